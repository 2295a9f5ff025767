// SPDX-License-Identifier: MIT
// Burns in a method of a template, called through others, one of them inlined.
#include <cstdlib>
#include <map>
#include <string>

extern "C" {
#include "burn.h"
}

namespace shop
{

template <typename Key, typename Value> struct Store {
	std::map<Key, Value> values;

	__attribute__((noinline)) void fill(long ms, Key key)
	{
		burn_ms(ms);
		values[key] = Value{};
		asm volatile("");
	}

	__attribute__((noinline)) Value operator()(long ms, Key key)
	{
		fill(ms, key);
		asm volatile("");
		return values[key];
	}
};

} // namespace shop

int main(int argc, char **argv)
{
	shop::Store<std::string, int> store;

	return store(argc > 1 ? std::atol(argv[1]) : 1000, "key");
}
