/* SPDX-License-Identifier: MIT */

import java.io.File;
import java.lang.management.ManagementFactory;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;

/** Loads the agent whose path is the property agent into this JVM, as it runs. */
final class Agents {
	static final String PATH = System.getProperty("agent");
	private static Object self;
	private static Method load;

	private Agents() {
	}

	static String pid() {
		return ManagementFactory.getRuntimeMXBean().getName().split("@")[0];
	}

	/** As said on the command line: -Doptions=... */
	static void on() throws Exception {
		load(System.getProperty("options"));
	}

	/** From within, where the JVM lets itself be attached to; else by jcmd. */
	static void load(String options) throws Exception {
		if (Times.JDK > 8 &&
		    !Boolean.getBoolean("jdk.attach.allowAttachSelf")) {
			jcmd(options);
			return;
		}
		if (self == null) {
			Class<?> machine = machine();

			self = machine.getMethod("attach", String.class)
				.invoke(null, pid());
			load = machine.getMethod("loadAgentPath", String.class,
						 String.class);
		}
		try {
			load.invoke(self, PATH, options);
		} catch (InvocationTargetException error) {
			throw new IllegalStateException(
				"loading " + PATH + " with " + options + ": " +
				error.getCause(), error.getCause());
		}
	}

	private static Class<?> machine() throws Exception {
		String name = "com.sun.tools.attach.VirtualMachine";

		if (Times.JDK > 8)
			return Class.forName(name);
		File tools = new File(System.getProperty("java.home"),
				      "../lib/tools.jar");
		return Class.forName(name, true, new URLClassLoader(
			new URL[] {tools.toURI().toURL()}));
	}

	/** JDK 9 and later. */
	static void jcmd(String options) throws Exception {
		ProcessBuilder builder = new ProcessBuilder(
			System.getProperty("java.home") + "/bin/jcmd", pid(),
			"JVMTI.agent_load", PATH);
		Process process;

		if (options != null && !options.isEmpty())
			/* jcmd reads a "=" as its own, but in quotes. */
			builder.command().add("\"" + options + "\"");
		builder.redirectErrorStream(true);
		builder.redirectOutput(new File("/dev/null"));
		process = builder.start();
		if (process.waitFor() != 0)
			throw new IllegalStateException(
				builder.command() + " exits with " +
				process.exitValue());
	}
}
