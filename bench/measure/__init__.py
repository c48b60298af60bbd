"""What is kept of it: the step recorder, clocks, sensors, and the Parquet files they become."""
