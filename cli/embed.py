# SPDX-License-Identifier: MIT
"""Makes a C header that holds files, one behind the other, as a string."""
import sys

name, target, *sources = sys.argv[1:]
with open(target, "w", encoding="ascii") as header:
    header.write(f"static const char {name}[] = {{\n")
    for source in sources:
        with open(source, "rb") as part:
            for byte in part.read():
                header.write(f"{byte if byte < 128 else byte - 256},")
            header.write("\n")
    header.write("0\n};\n")
