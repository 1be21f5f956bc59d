import { openConversation } from '../media/agent/conversation.js'
import { openPersona } from '../media/agent/persona.js'
import type { Vendors } from '../media/agent/ports.js'
import type { SpeakerScript } from '../media/agent/spec.js'
import type { Clock } from '../media/base/clock.js'
import type { Log } from '../media/base/log.js'
import type { Beat, BeatMember } from '../media/beat.js'
import type { CloseReason, Digit, End, SessionRate } from '../media/frame.js'
import { openRtpEnd, type RtpEnd } from '../media/rtp/end.js'
import { openSession, type Session } from '../media/session.js'
import type { VadFactory } from '../media/vad.js'
import type { Clips } from './clips.js'
import type {
  ClosedSession,
  OpenedSession,
  Party,
  RemoteMedia,
  SessionEvent,
  SessionId,
  WorkerSettings,
} from './protocol.js'
