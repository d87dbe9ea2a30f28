"""Writes powers.h: 5^q for q from -342 to 308, as its leading 128 bits, rounded as Eisel and Lemire ask for."""

FIRST, LAST = -342, 308


def leading_bits(q: int) -> int:
    """The leading 128 bits of 5^q: rounded down for q >= 0, up for q < 0."""
    if q >= 0:
        power: int = 5**q
        shift = power.bit_length() - 128
        return power >> shift if shift > 0 else power << -shift
    power = int(5**-q)
    z = power.bit_length()
    if q < -27:
        bits = (1 << (2 * z + 128)) // power + 1
        return bits >> (bits.bit_length() - 128)
    return (1 << (z + 127)) // power + 1


def main() -> None:
    print("/* Made by powers.py: the leading 128 bits of 5^q, high word and low word, for q from -342 to 308. */")
    print("#ifndef CRANFIELD_POWERS_H\n#define CRANFIELD_POWERS_H\n")
    print("#include <stdint.h>\n")
    print(f"#define FIRST_POWER ({FIRST})\n#define LAST_POWER {LAST}\n")
    print(f"static const uint64_t powers_of_five[{LAST - FIRST + 1}][2] = {{")
    for q in range(FIRST, LAST + 1):
        bits = leading_bits(q)
        print(f"    {{{bits >> 64:#018x}u, {bits & (2**64 - 1):#018x}u}},")
    print("};\n\n#endif")


if __name__ == "__main__":
    main()
