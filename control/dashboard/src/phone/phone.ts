import type { Result } from '../api.js'

/** Answer of the service about a call that it permits. */
export type PhoneTicket = Pick<
  Result<'requestBrowserCall'>,
  'ticket' | 'webSocketUrl' | 'from' | 'to' | 'iceServers'
>

/**
 * Why a call ended. `refused`: the service did not take it, with its code. `lost`: the connection or the media could not be
 * made, or broke.
 */
export type PhoneEnd =
  | { readonly kind: 'hung_up' | 'far_end' | 'lost' }
  | { readonly kind: 'refused'; readonly code: string }

export interface PhoneEvents {
  readonly answered: () => void
  /** The way of the signalling broke, or is there again. Media flows meanwhile. */
  readonly connection: (open: boolean) => void
  /** Once. The microphone is released. */
  readonly ended: (end: PhoneEnd) => void
}

/** One call from this page. */
export interface Phone {
  /** Stops or continues what the microphone sends. */
  mute(muted: boolean): void
  /** Sends a DTMF digit. */
  press(key: string): void
  /** Idempotent. */
  hangUp(): void
  /** Returns how loud both sides are now, from 0 to 1. */
  levels(): { readonly mine: number; readonly theirs: number }
}

/** Why there is no microphone. `insecure`: browsers offer none to pages over plain http. */
export type MicrophoneProblem = 'insecure' | 'denied' | 'none' | 'busy'

export class MicrophoneError extends Error {
  readonly problem: MicrophoneProblem

  constructor(problem: MicrophoneProblem) {
    super(problem)
    this.problem = problem
  }
}

export function hasMicrophoneAccess(): boolean {
  return window.isSecureContext && 'mediaDevices' in navigator
}

/** Asks for the microphone. Throws MicrophoneError. The caller stops its tracks. */
export async function openMicrophone(): Promise<MediaStream> {
  if (!hasMicrophoneAccess()) throw new MicrophoneError('insecure')
  try {
    return await navigator.mediaDevices.getUserMedia({
      audio: { echoCancellation: true, noiseSuppression: true, autoGainControl: true },
    })
  } catch (error) {
    const name = error instanceof DOMException ? error.name : ''
    if (name === 'NotAllowedError' || name === 'SecurityError') throw new MicrophoneError('denied')
    throw new MicrophoneError(name === 'NotFoundError' ? 'none' : 'busy')
  }
}

export function release(microphone: MediaStream): void {
  for (const track of microphone.getTracks()) track.stop()
}
