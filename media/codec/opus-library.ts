import { createRequire } from 'node:module'
import type { OpusEncoder } from '@discordjs/opus'

interface OpusLibrary {
  readonly OpusEncoder: typeof OpusEncoder
}

let loaded: OpusLibrary | null = null

/**
 * Returns the native Opus library. The first call in a thread loads it, which takes a tenth of a second: commands and threads
 * without audio start sooner without it. Media threads load it before their first call. Throws when it cannot be loaded.
 */
export function opusLibrary(): OpusLibrary {
  loaded ??= createRequire(import.meta.url)('@discordjs/opus') as OpusLibrary
  return loaded
}
