"""The rows of each query of a JSON file, as the DuckDB of this Python reads them from a database.

answers.py DATABASE QUERIES.json    prints {name: [row, ...]}; a row is JSON, floats have seven digits"""

import json
import math
import sys

import duckdb


def _plain(value):
    if isinstance(value, float):
        return "nan" if math.isnan(value) else f"{value:.6e}"
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value)


if __name__ == "__main__":
    database, queries = sys.argv[1:]
    with duckdb.connect(database, read_only=True) as connection, open(queries) as file:  # noqa: PTH123
        found = {}
        for name, query in json.load(file).items():
            try:
                found[name] = sorted(json.dumps(_plain(row)) for row in connection.execute(query).fetchall())
            except duckdb.Error as error:
                found[name] = [str(error)]
    json.dump(found, sys.stdout)
