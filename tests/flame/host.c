/* SPDX-License-Identifier: MIT */
/* host PLUGIN MS [delete]: loads a library and works in it. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	void *plugin = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void (*work)(long) =
		plugin ? (void (*)(long))dlsym(plugin, "plugin_work") : NULL;

	if (!work) {
		fprintf(stderr, "host: %s\n", argc > 2 ? dlerror() : "usage");
		return 2;
	}
	if (argc > 3)
		unlink(argv[1]);
	work(atol(argv[2]));
	dlclose(plugin);
	return 0;
}
