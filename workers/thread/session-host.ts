import type { CircuitBreakers } from '../../media/agent/circuit-breaker.js'
import type { PhraseCache } from '../../media/agent/tts/phrase-cache.js'
import type { Vendors } from '../../media/agent/vendor-ports.js'
import type { Clock } from '../../media/base/clock.js'
import type { Log } from '../../media/base/log.js'
import type { SafeResolver } from '../../media/base/public-address.js'
import type { DtlsIdentity } from '../../media/rtp/dtls/identity.js'
import type { RtpPorts } from '../../media/rtp/port.js'
import type { FrameClock, FrameClockMember } from '../../media/session/frame-clock.js'
import type { NoiseSuppression } from '../../media/vad/noise-suppressor.js'
import type { TurnDetector } from '../../media/vad/turn-detector.js'
import type { VadFactory } from '../../media/vad/vad.js'
import type { WorkerSettings } from '../channel/protocol.js'
import type { RecordingJobs } from '../jobs/recording-jobs.js'
import type { SoundLibrary } from './sound-library.js'
import type { SpeechClips } from './speech-clips.js'

/** Shared by the sessions of one thread. */
export interface SessionHost {
  readonly settings: WorkerSettings
  readonly vendors: Vendors
  readonly breakers: CircuitBreakers
  readonly phrases: PhraseCache
  readonly vad: VadFactory
  readonly turnDetector: TurnDetector | null
  readonly noiseSuppression: NoiseSuppression
  readonly clips: SpeechClips
  readonly sounds: SoundLibrary
  readonly recordings: Pick<RecordingJobs, 'finish'>
  /** Resolves the host names of customers' bots; see `openSafeResolver`. */
  readonly names: SafeResolver
  readonly ports: RtpPorts
  readonly identity: DtlsIdentity
  readonly frameClock: FrameClock
  readonly clock: Clock
  readonly log: Log
  /** Runs when a member of the frame clock throws: ends the member's session. */
  readonly members: Map<FrameClockMember, () => void>
}
