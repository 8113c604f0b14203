java_binary, java_import, java_library = native.java_binary, native.java_import, native.java_library
java_runtime, java_toolchain = native.java_runtime, native.java_toolchain
