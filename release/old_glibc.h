/* For compilers of a release: asks for the first versions of three functions of glibc, so that the wheel runs on every
 * glibc from 2.17 on, and not only from 2.29 on. The newer versions differ in errno alone: their results have the same
 * bits (tests/project/test_release.py).
 */
#if defined(__x86_64__) && defined(__linux__)
__asm__(".symver exp,exp@GLIBC_2.2.5");
__asm__(".symver lgamma,lgamma@GLIBC_2.2.5");
__asm__(".symver log,log@GLIBC_2.2.5");
#elif defined(__aarch64__) && defined(__linux__)
__asm__(".symver exp,exp@GLIBC_2.17");
__asm__(".symver lgamma,lgamma@GLIBC_2.17");
__asm__(".symver log,log@GLIBC_2.17");
#endif
