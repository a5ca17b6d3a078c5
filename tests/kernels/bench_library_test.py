#!/usr/bin/env python3
"""kernels/lab/bench_library.py passes arrays of the lengths that kernels/lab/bench_library.cpp reads, whatever tensors a caller has.

Usage: bench_library_test.py TREE
"""
import pathlib
import re
import sys
import unittest

TREE = pathlib.Path(sys.argv.pop(1))
sys.dont_write_bytecode = True
sys.path.insert(0, str(TREE / "kernels/lab"))
import bench_library  # noqa: E402


class Fake:
    """Stands for the library: keeps the arguments of the latest call."""

    def __getattr__(self, name):
        def call(*arguments):
            self.name, self.arguments = name, arguments
            return self.error
        return call

    error = None


def bench():
    library = bench_library.BenchLibrary.__new__(bench_library.BenchLibrary)
    library.library = Fake()
    return library


def lengths_read():
    """Returns the constants of bench_library.cpp by name."""
    text = (TREE / "kernels/lab/bench_library.cpp").read_text()
    return {name: int(value) for name, value in re.findall(r"(\w+(?:_sizes|_addresses)) = (\d+)", text)}


SHAPE = (1, 2, 2, 64, 64, 128)


class BenchLibraryTest(unittest.TestCase):
    def test_a_kernel_gets_all_sizes_and_addresses(self):
        library = bench()
        library.run("flash2", SHAPE, {"q": 8, "o": 16}, causal=True)
        name, sizes, size_count, bf16, causal, addresses, address_count, stream = library.library.arguments
        self.assertEqual((name, bf16, causal, stream.value), (b"flash2", 0, 1, None))
        self.assertEqual(list(sizes), [*SHAPE, 1])
        self.assertEqual((len(sizes), size_count), (lengths_read()["kernel_sizes"],) * 2)
        self.assertEqual((len(addresses), address_count), (lengths_read()["kernel_addresses"],) * 2)
        self.assertEqual([addresses[i] for i in (0, 1, 5)], [8, None, 16])

    def test_flex_gets_all_sizes_and_the_addresses_of_its_pass(self):
        for kernel, names, read in (("hopper_flex", bench_library.FLEX_NAMES, "flex_addresses"),
                                    ("flex_backward", bench_library.FLEX_BACKWARD_NAMES, "flex_backward_addresses")):
            library = bench()
            library.run_flex(kernel, SHAPE, range(1, len(names) + 1), mask="q >= kv")
            arguments = library.library.arguments
            self.assertEqual(arguments[0], bench_library.FLEX_BASES.index(kernel))
            self.assertEqual((len(arguments[1]), arguments[2]), (lengths_read()["flex_sizes"],) * 2)
            self.assertEqual((len(arguments[-3]), arguments[-2]), (lengths_read()[read],) * 2)

    def test_a_name_that_is_none_is_refused(self):
        with self.assertRaisesRegex(ValueError, "no tensor is called p_sum"):
            bench().run("flash2", SHAPE, {"p_sum": 8})

    def test_an_error_of_the_library_is_raised(self):
        library = bench()
        library.library.error = b"no such kernel"
        with self.assertRaisesRegex(RuntimeError, "no such kernel"):
            library.run("flash9", SHAPE, {})


unittest.main()
