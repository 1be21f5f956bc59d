import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EngineError } from '../../media/base/errors.js'
import type { Recogniser } from './recogniser.js'

/** The name of the recogniser of Debian's packages `pocketsphinx` and `pocketsphinx-en-us`, English only. */
export const POCKETSPHINX = 'pocketsphinx'

/** It normalises over the whole utterance; `pocketsphinx_continuous` understands the same audio worse. */
const PROGRAM = 'pocketsphinx_batch'
const MODEL = '/usr/share/pocketsphinx/model/en-us'
const LIMIT_MS = 20_000
/** Utterances that are recognised at the same time; each has a process of about 100 MiB. */
const AT_ONCE = 2

/** Throws EngineError `config_invalid` with the command that installs what is missing. */
export function openPocketSphinx(model = MODEL): Recogniser {
  if (!existsSync(model)) {
    throw new EngineError(
      'config_invalid',
      `${model} is missing: apt-get install pocketsphinx pocketsphinx-en-us`,
    )
  }
  let free = AT_ONCE
  const waiting: (() => void)[] = []
  const turn = async <T>(work: () => Promise<T>): Promise<T> => {
    if (free > 0) free--
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free++
      else next()
    }
  }
  return {
    model: POCKETSPHINX,
    kind: 'PocketSphinx, US English',
    streaming: false,
    begin() {
      const pieces: Buffer[] = []
      return {
        write: (audio) => {
          const pcm = Int16Array.from(audio, (sample) => sample * 32767)
          pieces.push(Buffer.from(pcm.buffer))
        },
        partial: () => null,
        end: () => turn(() => recognise(Buffer.concat(pieces), model)),
      }
    },
  }
}

async function recognise(audio: Buffer, model: string): Promise<string> {
  // The program reads from files only, and not from the sockets that Node gives a child as its input.
  const folder = await mkdtemp(join(tmpdir(), 'parley-utterance-'))
  try {
    await writeFile(join(folder, 'utterance.raw'), audio, { mode: 0o600 })
    await writeFile(join(folder, 'list'), 'utterance\n')
    const args = ['-adcin', 'yes', '-cepdir', folder, '-cepext', '.raw', '-logfn', '/dev/null']
    args.push('-ctl', join(folder, 'list'), '-hyp', join(folder, 'texts'))
    args.push('-hmm', join(model, 'en-us'), '-lm', join(model, 'en-us.lm.bin'))
    args.push('-dict', join(model, 'cmudict-en-us.dict'))
    await new Promise<void>((resolve, reject) => {
      execFile(PROGRAM, args, { timeout: LIMIT_MS }, (error) => {
        if (error === null) resolve()
        else reject(new EngineError('vendor_failed', `${PROGRAM} failed: ${error.message}`))
      })
    })
    return textOf(await readFile(join(folder, 'texts'), 'utf8'))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Reads a line of results: `words (utterance -1234)`. */
export function textOf(line: string): string {
  return line.replace(/\(utterance -?\d{1,20}\)\s{0,9}$/, '').trim()
}
