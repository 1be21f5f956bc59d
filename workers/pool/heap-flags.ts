/**
 * Options of V8 that keep it from stopping a media thread for 5 to 25 ms. The first one concerns heaps that are made later, which
 * are those of threads: V8 no longer shrinks the heap of a thread that allocates little. The second one concerns all heaps of the
 * process: an old generation may grow to four times what is in use. Before, it was collected every 1.5 s with 75 calls of agents.
 */
export const HEAP_FLAGS = ['--no-memory-reducer', '--heap-growing-percent=300'] as const

/**
 * Size of the young generation of a media thread (MB). A collection of the 48 MB that V8 would use stops all calls of the thread
 * for about 5 ms, most of it for the buffers of packets.
 */
export const YOUNG_GENERATION_MB = 12
