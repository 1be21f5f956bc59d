import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { makeAuthority } from '../../fixtures/sip/certificates.js'
import type { Fault, FromVendors, Profile, ToVendors, VendorReport } from './messages.js'

export const BENCH_MODELS = {
  chat: 'bench-chat',
  transcription: 'saaras:v3',
  voice: 'bench',
} as const

/** `timed` sends word times, `plain` does not. */
export type VoiceVendor = 'timed' | 'plain'

export const SPEECH: Readonly<Record<VoiceVendor, { readonly model: string; readonly voice: string }>> = {
  timed: { model: 'sonic-3', voice: BENCH_MODELS.voice },
  plain: { model: 'bulbul:v3', voice: 'shubh' },
}

/** Fake vendors on their wire protocols, JSON and base64 over TLS, in a process of their own. */
export interface BenchVendors {
  /** Environment of the engine, including the certificate authority. */
  readonly env: Readonly<Record<string, string>>
  /** Sets the text of the utterances from now on; null for the numbered question. */
  setTranscript(text: string | null): Promise<void>
  report(): Promise<VendorReport>
  close(): Promise<void>
}

export async function openVendors(options: {
  readonly profile: Profile
  readonly replySeconds: number
  readonly voice?: 'noise' | 'words'
  readonly faults?: Readonly<Record<string, Fault>>
}): Promise<BenchVendors> {
  const undo: (() => void)[] = []
  const authority = makeAuthority({ teardown: (run) => undo.push(run) }, 'Bench')
  const { certificate, key } = authority.issue('IP:127.0.0.1')
  const child = fork(fileURLToPath(new URL('./process.js', import.meta.url)), {
    execArgv: ['--enable-source-maps'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const exited = once(child, 'exit')
  /** Answers arrive in the order of the questions. */
  const ask = async (message: ToVendors): Promise<FromVendors> => {
    const answer = once(child, 'message')
    child.send(message)
    const [said] = await Promise.race([
      answer,
      exited.then(() => Promise.reject(new Error('the vendors died'))),
    ])
    return said as FromVendors
  }
  const ready = await ask({
    type: 'start',
    options: {
      profile: options.profile,
      replySeconds: options.replySeconds,
      voice: options.voice ?? 'noise',
      faults: options.faults ?? {},
      certificate,
      key,
    },
  })
  if (ready.kind !== 'ready') throw new Error('the vendors did not start')
  const host = `127.0.0.1:${ready.port}`
  return {
    env: {
      NODE_EXTRA_CA_CERTS: authority.certificateFile,
      PARLEY_OPENAI_BASE_URL: `https://${host}/v1`,
      PARLEY_OPENAI_API_KEY: 'bench',
      PARLEY_OPENAI_CHAT_MODEL: BENCH_MODELS.chat,
      PARLEY_SARVAM_API_KEY: 'bench',
      PARLEY_SARVAM_URL: `wss://${host}`,
      PARLEY_CARTESIA_API_KEY: 'bench',
      PARLEY_CARTESIA_URL: `wss://${host}`,
      PARLEY_CARTESIA_VOICES: `${BENCH_MODELS.voice}=bench-voice`,
    },
    async setTranscript(text) {
      await ask({ type: 'hears', text })
    },
    async report() {
      const answer = await ask({ type: 'report' })
      if (answer.kind !== 'report') throw new Error('the vendors answered something else')
      return answer.report
    },
    async close() {
      if (child.connected) child.send({ type: 'close' } satisfies ToVendors)
      await exited
      for (const run of undo) run()
    },
  }
}
