import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ScriptedUtterance, TimedWord } from '../../media/agent/agent-spec.js'
import { EngineError } from '../../media/base/errors.js'
import { projectRoot } from '../../media/base/project-root.js'

/** The speech clips of simulated people by name, with the times of their words. */
export type ClipManifest = ReadonlyMap<string, ScriptedUtterance>

/**
 * Reads the manifest of the recorded clips and keeps those of the sandbox. Throws EngineError
 * `storage_failed` when the file is missing or malformed.
 */
export function readClipManifest(
  file = join(projectRoot, 'signalling', 'sandbox', 'clips', 'manifest.json'),
): ClipManifest {
  let parsed: unknown
  try {
    parsed = JSON.parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new EngineError('storage_failed', 'the manifest of speech clips cannot be read', { cause })
  }
  if (!Array.isArray(parsed)) throw bad(0)
  const book = new Map<string, ScriptedUtterance>()
  for (const [index, entry] of parsed.entries()) {
    if (!isRecord(entry)) throw bad(index)
    if (entry.set !== 'sandbox') continue
    const { clip, text, language, onsetMs, offsetMs } = entry
    if (
      typeof clip !== 'string' ||
      typeof text !== 'string' ||
      typeof language !== 'string' ||
      typeof onsetMs !== 'number' ||
      typeof offsetMs !== 'number' ||
      !Array.isArray(entry.words)
    )
      throw bad(index)
    const words = entry.words.map((word: unknown): TimedWord => {
      if (
        !isRecord(word) ||
        typeof word.text !== 'string' ||
        typeof word.startMs !== 'number' ||
        typeof word.endMs !== 'number'
      )
        throw bad(index)
      return { text: word.text, startMs: word.startMs, endMs: word.endMs }
    })
    book.set(clip, { clip, text, language, words, onsetMs, offsetMs })
  }
  return book
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function bad(index: number): EngineError {
  return new EngineError('storage_failed', 'the manifest of speech clips is malformed', {
    context: { entry: index },
  })
}
