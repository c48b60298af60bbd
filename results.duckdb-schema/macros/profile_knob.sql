-- The argument of `bench suite` that profiles some steps after the measured ones, which changes no other figure.
CREATE OR REPLACE MACRO profile_knob() AS ('--set measure.profiled=4');
