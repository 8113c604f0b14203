cc_binary, cc_import, cc_library, cc_test = native.cc_binary, native.cc_import, native.cc_library, native.cc_test
cc_toolchain, cc_toolchain_suite, objc_library = native.cc_toolchain, native.cc_toolchain_suite, native.objc_library
