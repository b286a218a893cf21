"""Raw files of the papers' data, checked, for those who ask.

They come from the folder named by the environment variable ``LDP_LIB_DATA``, else are downloaded once from the UCI
Machine Learning Repository by pooch (``pip install ldp-lib[data]``). Either way their checksums must match.
"""

import hashlib
import json
import os
from pathlib import Path

from ldp_lib import datasets

UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/"
# Path in the data folder: URL below UCI, kind of checksum, checksum. Copies of Clave differ in their line ends, so its
# checksum is that of the parsed digits.
RAW = {path: tuple(row) for path, row in json.loads((datasets.DATA / "raw.json").read_text(encoding="utf-8")).items()}


def fetch(name):
    """Return the path of one of UCI's raw files, none with a header, or raise an error that says where to get it.

    Parameters
    ----------
    name : str
        "adult" (adult.data: 32,561 rows of 15 fields separated by ", ", missing is "?"), "mushroom"
        (agaricus-lepiota.data: 8,124 rows of 23 fields, the class comes first), "nursery" (nursery.data: 12,960 rows of
        9 fields, the class comes last) or "clave" (10,800 rows of 16 onset bits and 4 output bits; some lines go on:
        take the first 20 fields).
    """
    paths = {path.partition("/")[0]: path for path in RAW}
    datasets._require_name(name, paths)
    path = paths[name]
    url, kind, wanted = RAW[path]
    source = f"{path} ({kind} {wanted}) comes from {UCI}{url}"
    folder = os.environ.get("LDP_LIB_DATA")
    if folder:
        file = Path(folder, path)
        if not file.is_file():
            raise FileNotFoundError(f"LDP_LIB_DATA must name a folder that holds {path}; got {folder}. {source}")
    else:
        file = _download(path, UCI + url, f"sha256:{wanted}" if kind == "sha256" else None, source)
    found = _checksum(file, kind)
    if found != wanted:
        raise ValueError(f"{file} must have {kind} {wanted}; got {found}. {source}")
    return file


def _content_sha256(rows):
    """Return the sha256 of a parsed table: its fields joined by ",", one newline after each row."""
    return hashlib.sha256("".join(",".join(row) + "\n" for row in rows).encode()).hexdigest()


def _checksum(file, kind):
    if kind == "sha256":
        return hashlib.sha256(file.read_bytes()).hexdigest()
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    return _content_sha256(line.split()[:20] for line in lines if line.strip())


def _download(path, url, known_hash, source):
    remedy = f"{source}: download it, or set LDP_LIB_DATA to a folder that holds it"
    try:
        import pooch
    except ImportError as error:
        raise ImportError(f"pooch is needed to download {path}: pip install ldp-lib[data]. {remedy}") from error
    try:
        return Path(pooch.retrieve(url, known_hash, fname=Path(path).name, path=pooch.os_cache("ldp_lib")))
    except (OSError, ValueError) as error:
        raise ConnectionError(f"{path} could not be downloaded: {error}. {remedy}") from error
