import type { SessionRate } from '../base/frame.js'
import { maskPauses, type RecordingPause } from './pause-mask.js'
import { Track } from './track.js'
import { type Disk, systemDisk } from './wav-file.js'

/** Most persons of transfers in one call, one after the other. */
const MAX_PERSONS = 16
/** Most pauses that are not yet written; later ones merge into one long pause. */
const MAX_PAUSES = 64

/** The files of a call before `finishRecording` mixes them to one stereo file. */
export interface RawRecording {
  /** Stereo WAV: caller left, agent right. */
  readonly path: string
  /** Mono WAV files of the persons of transfers, each from this session sample on. */
  readonly persons: readonly { readonly path: string; readonly start: number }[]
}

export interface RecorderOptions {
  readonly path: string
  readonly rate: SessionRate
  /** Called once. Nothing is written afterwards. */
  readonly onFailed: (message: string) => void
  readonly disk?: Disk
}

/**
 * Records the voices of a call on one time line of session samples. The caller and the person of a transfer
 * are placed by their time on the network, the agent by its tick, so the tracks never drift apart. Nothing is
 * allocated on a tick. Files are written in the background.
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

  /** Seconds of audio, over all tracks, that a failing disk did not take. */
  get lostSeconds(): number {
    let lost = this.#main.dropped
    for (const { track } of this.#persons) lost += track.dropped
    return lost
  }

  /** Writes the caller's channel from sample `at` on. Audio that is too old or too far ahead is dropped. */
  writeCaller(at: number, pcm: Int16Array): void {
    this.#main.write(0, at, pcm)
  }

  /** Writes the agent's channel from sample `at` on. */
  writeAgent(at: number, pcm: Int16Array): void {
    this.#main.write(1, at, pcm)
  }

  /** Writes the person's track from sample `at` on. Audio before `beginPerson` is dropped. */
  writePerson(at: number, pcm: Int16Array): void {
    const last = this.#persons[this.#persons.length - 1]
    if (last !== undefined && last.closed === null) last.track.write(0, at, pcm)
  }

  /** Begins a track for a person at sample `at`, and ends the previous person's track. */
  beginPerson(at: number): void {
    this.endPerson(at)
    if (this.#closed !== null || this.#persons.length >= MAX_PERSONS) return
    const track = this.#open(personPath(this.#options.path, at), 1, at)
    this.#persons.push({ track, start: at, closed: null })
  }

  /** Ends the person's track. */
  endPerson(at: number): void {
    const last = this.#persons[this.#persons.length - 1]
    if (last !== undefined) last.closed ??= last.track.close(at)
  }

  /** Masks all audio from sample `at` on: silence with a soft beep. */
  pause(at: number): void {
    const last = this.#pauses[this.#pauses.length - 1]
    if (last !== undefined && (last.to === Infinity || this.#pauses.length >= MAX_PAUSES)) last.to = Infinity
    else this.#pauses.push({ from: at, to: Infinity })
  }

  resume(at: number): void {
    const last = this.#pauses[this.#pauses.length - 1]
    if (last !== undefined && last.to === Infinity) last.to = at
  }

  /** Moves session time to `at`, and hands audio that is old enough to the files. */
  advance(at: number): void {
    this.#main.advance(at)
    const last = this.#persons[this.#persons.length - 1]
    if (last !== undefined && last.closed === null) last.track.advance(at)
    // A person's track lags no more than the main track, so pauses behind the main track are done.
    while (this.#pauses.length > 1 && (this.#pauses[0] as RecordingPause).to < at - this.#main.depth) {
      this.#pauses.shift()
    }
  }

  /** Ends the recording at sample `at`. Idempotent. Resolves with null when nothing was written. */
  close(at: number): Promise<RawRecording | null> {
    this.#closed ??= this.#finish(at)
    return this.#closed
  }

  async #finish(at: number): Promise<RawRecording | null> {
    this.endPerson(at)
    const main = this.#main.close(at)
    const persons: { path: string; start: number }[] = []
    for (const { track, start, closed } of this.#persons) {
      if ((await (closed ?? track.close(at))) > 0) persons.push({ path: track.path, start })
    }
    return (await main) === 0 ? null : { path: this.#options.path, persons }
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

/**
 * Returns the path of a person's track. Its name holds the start, because a killed process cannot write a
 * list.
 */
function personPath(path: string, start: number): string {
  return path.replace(/(?:\.wav)?$/, `.person-${start}.wav`)
}
