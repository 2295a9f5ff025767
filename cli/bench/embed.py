# SPDX-License-Identifier: MIT
"""Makes a C header that holds a file as the string report_page."""
import sys

source, target = sys.argv[1:]
with open(source, "rb") as page, open(target, "w", encoding="ascii") as header:
    header.write("static const char report_page[] = {\n")
    for byte in page.read() + b"\0":
        header.write(f"{byte if byte < 128 else byte - 256},")
    header.write("\n};\n")
