# SPDX-License-Identifier: MIT
"""Decodes a profile of pprof by hand, and prints its types and stacks."""
import gzip
import sys


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
            assert len(value) == value.__len__() and at <= len(data)
        else:
            assert key & 7 == 0, key
        yield key >> 3, value


def packed(data):
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        yield value


with gzip.open(sys.argv[1]) as file:
    top = list(fields(file.read()))
strings = [value.decode() for field, value in top if field == 6]
assert strings[0] == ""
types = [dict(fields(value)) for field, value in top if field == 1]
functions = {}
for field, value in top:
    if field == 5:
        function = dict(fields(value))
        functions[function[1]] = strings[function[2]]
locations = {}
for field, value in top:
    if field == 4:
        location = dict(fields(value))
        locations[location[1]] = functions[dict(fields(location[4]))[1]]
print(*(f"{strings[t[1]]}/{strings[t[2]]}" for t in types))
for field, value in top:
    if field == 2:
        sample = dict(fields(value))
        values = list(packed(sample[2]))
        assert len(values) == len(types)
        print(*(locations[i] for i in packed(sample[1])), end=": ")
        print(*values)
