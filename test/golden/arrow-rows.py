"""Prints the rows of the Arrow streams in a folder as JSON, once read by pyarrow and once by polars, where they are installed."""
import datetime
import json
import pathlib
import sys

readers = {}
try:
    import pyarrow.ipc

    readers["pyarrow"] = lambda path: pyarrow.ipc.open_stream(path.read_bytes()).read_all().to_pylist()
except ImportError:
    pass
try:
    import polars

    readers["polars"] = lambda path: polars.read_ipc_stream(path).to_dicts()
except ImportError:
    pass

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def base58(data):
    number, text = int.from_bytes(data, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = ALPHABET[digit] + text
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text


def plain(value):
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return str(value)
    if isinstance(value, datetime.datetime):
        return str(int(value.timestamp()) * 1000)
    if isinstance(value, bytes):
        return base58(value)
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return value


folder = pathlib.Path(sys.argv[1])
json.dump(
    {name: {path.name: [plain(row) for row in read(path)] for path in sorted(folder.iterdir())} for name, read in readers.items()},
    sys.stdout,
)
