"""Measurement: the step recorder, clocks, sensors, and the Parquet files made from their rows."""
