import type { SessionRate } from '../base/frame.js'
import { maskPauses, type RecordingPause } from './pause-mask.js'
import { Track } from './track.js'
import { type Disk, systemDisk } from './wav-file.js'

/** People of transfers, one after the other, that one call can have. */
const MAX_PEOPLE = 16
/** Pauses not yet written; more are one long pause. */
const MAX_PAUSES = 64

/** What a call left on the disk, before it is made one stereo file (finish.ts). */
export interface RawRecording {
  /** Stereo WAV: caller left, agent right. */
  readonly path: string
  /** Mono WAV each: what a person of a transfer said, from that sample of the session on. */
  readonly persons: readonly { readonly path: string; readonly start: number }[]
}

export interface RecorderOptions {
  readonly path: string
  readonly rate: SessionRate
  /** Once: from then on nothing more is written. */
  readonly onFailed: (message: string) => void
  readonly disk?: Disk
}

/**
 * The voices of a call on one time line of samples since session start: the caller and a transfer's
 * person are placed where they were on the wire, the agent on its beat, so that no length of call
 * moves one against the other. Between the calls per beat nothing is allocated; files are written in
 * the background.
 */
export class Recorder {
  readonly #options: RecorderOptions
  readonly #main: Track
  readonly #pauses: RecordingPause[] = []
  readonly #persons: { readonly track: Track; readonly start: number; closed: Promise<number> | null }[] = []
  #failed = false
  #closed: Promise<RawRecording | null> | null = null

  constructor(options: RecorderOptions) {
    this.#options = options
    this.#main = this.#open(options.path, 2, 0)
  }

  /** Seconds of sound, over all tracks, that a failing disk did not take. */
  get lostSeconds(): number {
    let lost = this.#main.dropped
    for (const { track } of this.#persons) lost += track.dropped
    return lost
  }

  /** Replaces what the caller's channel has from sample `at` on. Too old or too far ahead is dropped. */
  writeCaller(at: number, pcm: Int16Array): void {
    this.#main.write(0, at, pcm)
  }

  /** Replaces what the agent's channel has from sample `at` on. */
  writeAgent(at: number, pcm: Int16Array): void {
    this.#main.write(1, at, pcm)
  }

  /** Replaces what the person of a transfer has from sample `at` on; before `beginPerson` it is dropped. */
  writePerson(at: number, pcm: Int16Array): void {
    const last = this.#persons[this.#persons.length - 1]
    if (last !== undefined && last.closed === null) last.track.write(0, at, pcm)
  }

  /** A person comes into the call at sample `at`: a track of their own. Ends the one before. */
  beginPerson(at: number): void {
    this.endPerson(at)
    if (this.#closed !== null || this.#persons.length >= MAX_PEOPLE) return
    const track = this.#open(personPath(this.#options.path, at), 1, at)
    this.#persons.push({ track, start: at, closed: null })
  }

  /** The person has left. */
  endPerson(at: number): void {
    const last = this.#persons[this.#persons.length - 1]
    if (last !== undefined) last.closed ??= last.track.close(at)
  }

  /** From sample `at` on nothing said is kept: a soft beep now and then, silence between. */
  pause(at: number): void {
    const last = this.#pauses[this.#pauses.length - 1]
    if (last !== undefined && (last.to === Infinity || this.#pauses.length >= MAX_PAUSES)) last.to = Infinity
    else this.#pauses.push({ from: at, to: Infinity })
  }

  resume(at: number): void {
    const last = this.#pauses[this.#pauses.length - 1]
    if (last !== undefined && last.to === Infinity) last.to = at
  }

  /** Session time is now `at` samples: hands what is old enough to the files. */
  advance(at: number): void {
    this.#main.advance(at)
    const last = this.#persons[this.#persons.length - 1]
    if (last !== undefined && last.closed === null) last.track.advance(at)
    // A person's track lags no more than the main one: what that has passed is no longer needed.
    while (this.#pauses.length > 1 && (this.#pauses[0] as RecordingPause).to < at - this.#main.depth) {
      this.#pauses.shift()
    }
  }

  /** Idempotent; the recording ends at sample `at`. Null when nothing was written. */
  close(at: number): Promise<RawRecording | null> {
    this.#closed ??= this.#finish(at)
    return this.#closed
  }

  async #finish(at: number): Promise<RawRecording | null> {
    this.endPerson(at)
    const main = this.#main.close(at)
    const people: { path: string; start: number }[] = []
    for (const { track, start, closed } of this.#persons) {
      if ((await (closed ?? track.close(at))) > 0) people.push({ path: track.path, start })
    }
    return (await main) === 0 ? null : { path: this.#options.path, persons: people }
  }

  #open(path: string, channels: number, start: number): Track {
    const { rate, disk = systemDisk } = this.#options
    return new Track({
      path,
      format: { rate, channels },
      start,
      disk,
      mask: (from, samples, frames) => maskPauses(this.#pauses, { rate, channels }, from, samples, frames),
      onFailed: (message) => {
        if (this.#failed) return
        this.#failed = true
        this.#options.onFailed(message)
      },
    })
  }
}

/** Beside the recording, its beginning in its name: a process that is killed can write no list. */
function personPath(path: string, start: number): string {
  return path.replace(/(?:\.wav)?$/, `.person-${start}.wav`)
}
