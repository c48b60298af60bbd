"""What ci/docs writes into the pages of docs/: tables made from the code, so that they cannot be wrong for long."""
