import { useEffect, useRef, useState } from 'react'
import {
  MicrophoneError,
  type MicrophoneProblem,
  openMicrophone,
  type Phone,
  type PhoneEnd,
  type PhoneTicket,
  release,
} from './phone.js'

/** State of the call that the page shows. */
export type PhoneState =
  | {
      readonly kind: 'idle'
      readonly end: PhoneEnd | null
      readonly problem: MicrophoneProblem | null
      readonly error: Error | null
    }
  | { readonly kind: 'starting' | 'calling' }
  | { readonly kind: 'talking'; readonly connected: boolean }

/** Attempts to reach the process that carries a call. */
const ATTEMPTS = 10

const IDLE: Extract<PhoneState, { kind: 'idle' }> = { kind: 'idle', end: null, problem: null, error: null }

/** One call at a time of this part of the page. It ends with the part. */
export function usePhone() {
  const [state, setState] = useState<PhoneState>(IDLE)
  const phone = useRef<Phone | null>(null)
  const mounted = useRef(true)
  useEffect(() => {
    mounted.current = true
    return () => {
      mounted.current = false
      phone.current?.hangUp()
    }
  }, [])

  /** Asks for the microphone, then for the ticket, which does not live long. */
  async function start(requestTicket: () => Promise<PhoneTicket>, attempts = ATTEMPTS): Promise<void> {
    setState({ kind: 'starting' })
    let microphone: MediaStream | null = null
    try {
      const [opened, { callBySip }] = await Promise.all([openMicrophone(), import('./sip-phone.js')])
      microphone = opened
      const ticket = await requestTicket()
      if (!mounted.current) {
        release(microphone)
        return
      }
      setState({ kind: 'calling' })
      phone.current = callBySip(ticket, microphone, {
        answered: () => setState({ kind: 'talking', connected: true }),
        connection: (connected) => setState({ kind: 'talking', connected }),
        ended: (end) => {
          phone.current = null
          const elsewhere = end.kind === 'refused' && end.code === 'other_process'
          if (elsewhere && attempts > 1 && mounted.current) void start(async () => ticket, attempts - 1)
          else setState({ ...IDLE, end })
        },
      })
    } catch (error) {
      if (microphone !== null) release(microphone)
      if (error instanceof MicrophoneError) setState({ ...IDLE, problem: error.problem })
      else setState({ ...IDLE, error: error instanceof Error ? error : new Error(String(error)) })
    }
  }

  return { state, phone, start }
}
