"""Files packed by the Unix program `compress` (.Z), as TREC's disks have them."""

from __future__ import annotations

from cranfield.errors import InputError

LZW_MAGIC = b"\x1f\x9d"
_CLEAR = 256
_FEWEST_BITS, _MOST_BITS = 9, 16


def decompress_lzw(data: bytes, file: str = "input") -> bytes:
    """What `compress` packed.

    >>> decompress_lzw(bytes.fromhex("1f9d9061c48c1103"))
    b'abcb'
    """
    blocks, most = _settings(data, file)
    first = [bytes([byte]) for byte in range(256)] + ([b""] if blocks else [])
    known, before, bits, at = list(first), b"", _FEWEST_BITS, 3
    out: list[bytes] = []
    # codes come in groups of eight, of as many bytes as a code has bits; a group is left where the width changes
    while at < len(data):
        group = data[at : at + bits]
        at += bits
        codes, mask = int.from_bytes(group, "little"), (1 << bits) - 1
        for _ in range(8 * len(group) // bits):
            code = codes & mask
            codes >>= bits
            if blocks and code == _CLEAR:
                known, before, bits = list(first), b"", _FEWEST_BITS
                break
            if code < len(known):
                text = known[code]
            elif code == len(known) and before:
                text = before + before[:1]
            else:
                raise InputError(f"the .Z data are damaged: no code {code} yet after {at:,} bytes.", file)
            out.append(text)
            if before and len(known) < 1 << most:
                known.append(before + text[:1])
            before = text
            if len(known) > mask and bits < most:
                bits += 1
                break
    return b"".join(out)


def _settings(data: bytes, file: str) -> tuple[bool, int]:
    """Whether the table of codes may be cleared, and how many bits a code has at most."""
    if not data.startswith(LZW_MAGIC) or len(data) < 3:
        raise InputError("the file is not packed by compress, or cut off.", file)
    most = data[2] & 0x1F
    # with 9, versions of compress disagree on what follows when the table is full
    if not _FEWEST_BITS < most <= _MOST_BITS:
        raise InputError(f"the .Z data cannot be read: codes of up to {most} bits, expected 10 to 16.", file)
    return bool(data[2] & 0x80), most
