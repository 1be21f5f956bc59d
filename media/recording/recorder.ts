import type { SessionRate } from '../base/frame.js'
import { maskPauses, type RecordingPause } from './pause-mask.js'
import { Track } from './track.js'
import { type Disk, systemDisk } from './wav-file.js'

/** Takes one voice of a recording. */
export interface VoiceTrack {
  /** Writes from sample `at` on. Audio that is too old or too far ahead is dropped. */
  write(at: number, pcm: Int16Array): void
  /** Ends the voice. The caller's ends with the recording. */
  end(at: number): void
}

interface PersonTrack extends VoiceTrack {
  readonly track: Track
  readonly start: number
  closed: Promise<number> | null
}

/** Most persons of transfers in one recording. */
const MAX_PERSONS = 16
/** Most pauses that are not yet written; later ones merge into one long pause. */
const MAX_PAUSES = 64

/** The files of a call before `finishRecording` mixes them to one stereo file. */
export interface RawRecording {
  /** Stereo WAV: caller left, agent right. */
  readonly path: string
  /** Mono WAV files of the persons of transfers, each from this sample of the stereo file on. */
  readonly persons: readonly { readonly path: string; readonly start: number }[]
}

export interface RecorderOptions {
  readonly path: string
  readonly rate: SessionRate
  /** Session sample at which the recording begins. Default: 0. */
  readonly start?: number
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
  readonly #persons: PersonTrack[] = []
  /** The caller's channel. */
  readonly caller: VoiceTrack
  #failed = false
  #closed: Promise<RawRecording | null> | null = null

  constructor(options: RecorderOptions) {
    this.#options = options
    this.#main = this.#open(options.path, 2, options.start ?? 0)
    this.caller = { write: (at, pcm) => this.#main.write(0, at, pcm), end: () => {} }
  }

  get path(): string {
    return this.#options.path
  }

  /** Seconds of audio, over all tracks, that a failing disk did not take. */
  get lostSeconds(): number {
    let lost = this.#main.dropped
    for (const { track } of this.#persons) lost += track.dropped
    return lost
  }

  /** Writes the agent's channel from sample `at` on. */
  writeAgent(at: number, pcm: Int16Array): void {
    this.#main.write(1, at, pcm)
  }

  /** Begins a track for a person at sample `at`. Returns null when there are too many. */
  beginPerson(at: number): VoiceTrack | null {
    if (this.#closed !== null || this.#persons.length >= MAX_PERSONS) return null
    const { path, start: origin = 0 } = this.#options
    let start = at - origin
    // The start is part of the name of the file, so it is unique.
    while (this.#persons.some((person) => person.start === start)) start++
    const track = this.#open(personPath(path, start), 1, origin + start)
    const person: PersonTrack = {
      track,
      start,
      closed: null,
      write: (from, pcm) => {
        if (person.closed === null) track.write(0, from, pcm)
      },
      end: (until) => {
        person.closed ??= track.close(until)
      },
    }
    this.#persons.push(person)
    return person
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
    for (let i = 0; i < this.#persons.length; i++) {
      const person = this.#persons[i] as PersonTrack
      if (person.closed === null) person.track.advance(at)
    }
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
    for (const person of this.#persons) person.end(at)
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
