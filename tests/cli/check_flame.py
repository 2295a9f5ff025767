# SPDX-License-Identifier: MIT
"""Reads flame graphs with the standard parsers of their formats.

check_flame.py FILE...          fails if one is malformed
check_flame.py --names FILE     prints the names of its frames
"""
import html.parser
import json
import sys
import xml.etree.ElementTree as ElementTree

VOID = {"meta", "link", "input", "br", "img"}


class Page(html.parser.HTMLParser):
    """Collects what is in the element "data"; tags must be closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.data, self.in_data = [], "", False

    def handle_starttag(self, tag, attrs):
        assert not any(name.startswith("on") for name, _ in attrs), attrs
        if tag not in VOID:
            self.open.append(tag)
        self.in_data = dict(attrs).get("id") == "data"

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag
        self.in_data = False

    def handle_data(self, data):
        if self.in_data:
            self.data += data


def text_of(path):
    with open(path, encoding="utf-8", errors="strict", newline="\n") as file:
        return file.read()


def read_html(path):
    page = Page()
    page.feed(text_of(path))
    page.close()
    assert not page.open, page.open
    data = json.loads(page.data)
    stride = 6 if data["difference"] else 4
    nodes = data["nodes"]
    assert len(nodes) % stride == 0 and nodes
    assert len(data["colours"]) == len(data["names"])
    path = []
    for up, name, total, own, *before in zip(*[iter(nodes)] * stride):
        path = path[:len(path) - up]
        assert path or len(data["names"]) == len(data["colours"])
        assert 0 <= own <= total
        assert not path or total <= path[-1], "more than its caller"
        data["names"][name]
        path.append(total)
    return data["names"]


def read_svg(path):
    root = ElementTree.fromstring(text_of(path).encode())
    ns = "{http://www.w3.org/2000/svg}"
    frames = root.find(f"{ns}g[@id='frames']")
    names = []
    for group in frames:
        assert [child.tag for child in group][:2] == [ns + "title", ns + "rect"]
        names.append(group[0].text.rsplit("\n", 1)[0])
        assert float(group[1].get("width")) >= 0
    assert len(root.findall(f".//{ns}script")) == 1
    return names


def read_json(path):
    data = json.loads(text_of(path))
    (profile,) = data["profiles"]
    assert len(profile["samples"]) == len(profile["weights"])
    assert sum(profile["weights"]) == profile["endValue"]
    return [frame["name"] for frame in data["shared"]["frames"]]


def read_folded(path):
    names = []
    for line in text_of(path).splitlines():
        stack, count = line.rsplit(" ", 1)
        assert int(count) > 0
        assert all(stack.split(";")), line
        names += stack.split(";")
    # No other sign ends a line for Python than for the reader.
    assert len(text_of(path).splitlines()) == text_of(path).count("\n")
    return names


READERS = {".html": read_html, ".svg": read_svg, ".json": read_json,
           ".folded": read_folded}


def read(path):
    return READERS["." + path.rsplit(".", 1)[1]](path)


if sys.argv[1] == "--names":
    sys.stdout.reconfigure(encoding="utf-8")
    print(*read(sys.argv[2]), sep="\n")
else:
    for argument in sys.argv[1:]:
        for frame in read(argument):
            bad = [c for c in frame if ord(c) < 32 or 127 <= ord(c) < 160]
            assert not bad, (argument, frame)
