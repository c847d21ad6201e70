"""Bytes of a source: path, upload or standard input; plain or gzip; hashed as they are read."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import os
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from whileai_review.load._types import UnreadableError

BLOCK = 1 << 20
"""Bytes read at a time."""

GZIP_MAGIC = b"\x1f\x8b"

BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16 LE, whose mark it starts with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class Origin:
    """Where the bytes come from; can be opened as often as needed.

    A path is opened anew for each pass, a file object is rewound, and what cannot be
    rewound (a pipe) goes to a temporary file first.
    """

    def __init__(self, where: str | os.PathLike | IO, name: str | None = None) -> None:
        self._path: Path | None = None
        self._file: Any = None
        if isinstance(where, (str, os.PathLike)):
            self._take_path(os.fspath(where), name)
        elif hasattr(where, "read"):
            self.name = name or os.path.basename(str(getattr(where, "name", "upload")))
            self._file = _rewindable(where)
        else:
            raise TypeError(f"need a path or a file object, not {type(where).__name__}")

    def _take_path(self, where: str, name: str | None) -> None:
        if where == "-":
            self.name = name or "standard input"
            self._file = _rewindable(sys.stdin.buffer)
            return
        self._path, self.name = Path(where), name or os.path.basename(where)
        if self._path.is_dir():
            raise UnreadableError(
                f"{where} is a folder. Name a file in it, or load the folder as a batch."
            )
        if not self._path.exists():
            raise UnreadableError(f"There is no file {where}.")

    def stream(self) -> Stream:
        """The decompressed bytes from the start."""
        if self._path is not None:
            try:
                raw: Any = open(self._path, "rb")
            except OSError as error:
                raise UnreadableError(f"{self.name} cannot be opened: {error.strerror}.") from error
        else:
            self._file.seek(0)
            raw = self._file
        magic = raw.read(2)
        raw.seek(0)
        zipped = magic == GZIP_MAGIC
        inner = gzip.GzipFile(fileobj=raw, mode="rb") if zipped else raw
        return Stream(inner, raw, self.name, owned=self._path is not None)


class Stream(io.RawIOBase):
    """Decompressed bytes of one pass, and their sha256."""

    def __init__(self, inner: Any, raw: Any, name: str, owned: bool) -> None:
        self._inner, self._raw, self._owned = inner, raw, owned
        self.name = name
        self._size = raw.seek(0, io.SEEK_END) or raw.tell()
        raw.seek(0)
        self._hash = hashlib.sha256()
        self.n_bytes = 0

    def readable(self) -> bool:
        """Always: it is made to be read."""
        return True

    def take(self, n: int) -> bytes:
        """Up to `n` bytes, ``b""`` at the end."""
        try:
            data = self._inner.read(n)
        except EOFError as error:
            raise UnreadableError(
                f"{self.name} ends early: the gzip data is cut off. Nothing was kept."
            ) from error
        except (gzip.BadGzipFile, zlib.error) as error:
            raise UnreadableError(f"{self.name} is damaged: its gzip data do not check.") from error
        except OSError as error:
            raise UnreadableError(f"{self.name} cannot be read: {error.strerror}.") from error
        self._hash.update(data)
        self.n_bytes += len(data)
        return data

    def readinto(self, buffer: Any) -> int:
        """For `io` wrappers."""
        data = self.take(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    @property
    def fraction(self) -> float | None:
        """Share of the (packed) bytes that was read; None when the size is unknown."""
        return None if not self._size else min(1.0, self._at() / self._size)

    def _at(self) -> int:
        try:
            return self._raw.tell()
        except ValueError:  # closed: the pass is over
            return self._size

    def everything(self) -> bytes:
        """All bytes to the end."""
        return b"".join(iter(lambda: self.take(BLOCK), b""))

    def content_hash(self) -> str:
        """Sha256 (hex) of what was read so far."""
        return self._hash.hexdigest()

    def close(self) -> None:
        """Close what this pass opened; a file object that was handed in stays open."""
        if self._owned:
            self._raw.close()
        super().close()


def _rewindable(file: Any) -> Any:
    """The file as bytes that can be read from the start again."""
    try:
        seekable = file.seekable()
    except AttributeError:
        seekable = False
    if seekable:
        file.seek(0)
        if isinstance(file.read(0), bytes):
            return file
    kept: Any = tempfile.SpooledTemporaryFile(max_size=8 * BLOCK)  # noqa: SIM115
    while block := file.read(BLOCK):
        kept.write(block if isinstance(block, bytes) else block.encode("utf-8", "surrogatepass"))
    return kept


def encoding_of(head: bytes, name: str) -> tuple[str, int]:
    """Encoding of a text by its byte-order mark (UTF-8 without one), and the mark's length.

    Raises
    ------
    UnreadableError
        The bytes are UTF-16 without a mark, or no text at all.
    """
    for bom, encoding in BOMS:
        if head.startswith(bom):
            return encoding, len(bom)
    sample = head[:4096]
    if len(sample) > 3 and (not any(sample[1:4:2]) or not any(sample[0:4:2])):
        raise UnreadableError(
            f"{name} looks like UTF-16 without a byte-order mark. Save it as UTF-8."
        )
    controls = sum(sample.count(c) for c in range(32) if c not in (9, 10, 12, 13, 27))
    # Text may hold a few control characters; other bytes than UTF-8 beside them are no text.
    if controls > (0.3 if _is_utf8(sample) else 0.05) * len(sample):
        raise UnreadableError(f"{name} is a binary file, not text. Save the rows as JSON lines.")
    return "utf-8", 0


def _is_utf8(sample: bytes) -> bool:
    try:
        sample.decode()
    except UnicodeDecodeError as error:
        return len(sample) - error.start < 4  # a letter cut in two
    return True


def utf8_blocks(stream: Stream) -> Iterator[bytes]:
    """Blocks of a text stream as UTF-8 without a byte-order mark."""
    block = stream.take(BLOCK)
    while len(block) < 4 and (more := stream.take(BLOCK)):
        block += more
    encoding, skip = encoding_of(block, stream.name)
    block = block[skip:]
    if encoding == "utf-8":
        while block:
            yield block
            block = stream.take(BLOCK)
        return
    decoder = codecs.getincrementaldecoder(encoding)("strict")
    try:
        while block:
            yield decoder.decode(block).encode()
            block = stream.take(BLOCK)
        yield decoder.decode(b"", final=True).encode()
    except UnicodeDecodeError as error:
        raise not_in(encoding, stream.name) from error


def not_in(encoding: str, name: str, line: int | None = None) -> UnreadableError:
    """The error for bytes that are not in the encoding they should be in."""
    where = f" in line {line:,}" if line else ""
    shown = encoding.upper().removesuffix("-LE").removesuffix("-BE")
    return UnreadableError(
        f"{name} is not {shown}: it has bytes{where} that cannot be read. Save it as UTF-8."
    )
