import { randomInt } from 'node:crypto'
import type { Digit, DtmfTiming, SessionRate } from '../../media/base/frame.js'
import { applyRouting, type CallParties } from '../../media/session/routing.js'
import type { Session } from '../../media/session/session.js'
import { DtmfToneEndpoint, LoopEndpoint } from '../../media/sounds/endpoints.js'
import type { SoundLibrary } from './sound-library.js'

const KEYS = 'keys'
const AMBIENCE = 'ambience'

/** The sounds of a call besides its leg and its party: background sound, and DTMF as tones. */
export class CallSounds {
  readonly #session: Session
  readonly #rate: SessionRate
  readonly #keys: DtmfToneEndpoint
  #parties: CallParties

  /** Connects caller and party, whose endpoints are in the session already. */
  constructor(session: Session, rate: SessionRate, caller: string, party: string) {
    this.#session = session
    this.#rate = rate
    this.#keys = new DtmfToneEndpoint(KEYS, rate)
    session.add(this.#keys)
    this.#parties = { caller, agent: party, human: null, music: null, ambience: null, dtmf: KEYS }
    applyRouting(session, 'agent', this.#parties)
  }

  /**
   * Adds background sound around the agent. Each call starts at a random position, so that repeated calls do
   * not sound the same. Rejects with EngineError `config_invalid`.
   */
  async addAmbience(
    sounds: SoundLibrary,
    sound: 'office' | 'cafe' | 'call_center',
    volume: number,
  ): Promise<void> {
    const pcm = await sounds.load(sound, this.#rate)
    this.#session.add(new LoopEndpoint(AMBIENCE, pcm, randomInt(pcm.length)))
    this.#parties = { ...this.#parties, ambience: { id: AMBIENCE, volume } }
    applyRouting(this.#session, 'agent', this.#parties)
  }

  /** Sends digits as tones in the audio. Returns false, and sends none, when too many are pending. */
  press(digits: readonly Digit[], timing?: DtmfTiming): boolean {
    return this.#keys.press(digits, timing)
  }
}
