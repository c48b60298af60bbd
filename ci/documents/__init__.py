"""ci/docs writes tables from the code into the pages of docs/, so that they stay correct."""
