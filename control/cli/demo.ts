import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ParleyClient } from '../../clients/typescript/client.js'
import type { Call, CreateAgentBody } from '../../clients/typescript/generated/types.js'
import { systemClock } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import { projectRoot } from '../../media/base/project-root.js'
import { type Parley, startParley } from '../app/service.js'
import { readSettings } from '../config/settings.js'
import { openLog } from '../observe/log.js'
import { Commentary, say } from './demo-commentary.js'

/*
 * `npm run demo`: one complete call, as a new user would make it. All requests go through the public REST
 * API; only the live commentary listens to the call's events.
 */

const HELP = `npm run demo [-- --keep] [-- --to NUMBER]

Starts Parley on free loopback ports, creates an agent, places a call to a simulated person and
prints the conversation as it happens.

  --keep        keeps the service running afterwards and prints how to use it
  --to NUMBER   sandbox number to call (default +919000000010, who interrupts the agent)
  --help        this text
`

/** The simulated person who interrupts the agent in mid-sentence. */
const INTERRUPTER = '+919000000010'
const CALL_DEADLINE_MS = 90_000
const KEPT_RUNS = 5

const AGENT: CreateAgentBody = {
  name: 'Asha, front desk',
  description: 'Answers questions about a dental clinic.',
  systemPrompt:
    'You are Asha, the friendly receptionist of {{clinic}}. Answer briefly. ' +
    'When the caller says goodbye, say goodbye and end the call.',
  llmModel: 'parley-rules-1',
  inputVariables: [
    { name: 'clinic', description: 'Name of the clinic', required: false, default: 'Smile Dental Clinic' },
  ],
  voice: {
    languages: ['en-IN'],
    sttLanguage: 'en-IN',
    sttModel: 'parley-sandbox',
    ttsModel: 'espeak-ng',
    ttsVoice: 'asha',
  },
  tools: [
    { name: 'end_call', description: 'Ends the call when the conversation is over.', preset: 'end_call' },
  ],
  callSettings: {
    businessName: 'Smile Dental Clinic',
    openingLine: {
      text:
        'Hello, this is Asha from Smile Dental Clinic. I am calling about your appointment tomorrow. ' +
        'We have moved it to ten in the morning, and I would like to tell you how to prepare for it.',
    },
    maxCallSeconds: 60,
  },
}

async function endedCall(client: ParleyClient, callId: string): Promise<Call> {
  // The `ended` event is stored after the earlier ones. The API shows it once it is committed.
  const deadline = systemClock.now() + 5_000
  for (;;) {
    const call = await client.readCall({ id: callId })
    if (call.status === 'ended') return call
    if (systemClock.now() > deadline) throw new Error('the call ended, but the API still shows it as running')
    await new Promise((resolve) => systemClock.after(50, () => resolve(undefined)))
  }
}

async function runDemo(
  client: ParleyClient,
  to: string,
  commentary: Commentary,
  name: (id: string) => void,
): Promise<Made & { readonly wrong: readonly string[] }> {
  say('3/5  creating an agent through the API')
  const { id: agentId } = await client.createAgent({ body: AGENT })
  const { version } = await client.publishAgent({ id: agentId, body: { note: 'first' } })
  say(`     ${AGENT.name} (${agentId}), version ${version} published`)
  const [number] = (await client.listNumbers()).items
  if (number === undefined) throw new Error('there is no sandbox number')
  const { id: numberId, e164: from } = number
  await client.updateNumber({ id: numberId, body: { agentId, recordCalls: true } })

  say(`4/5  POST /v1/calls  from ${from} to ${to}`)
  const { id: callId } = await client.placeCall({ body: { to, numberId } })
  name(callId)
  commentary.named()
  let timer: { cancel(): void } | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = systemClock.after(CALL_DEADLINE_MS, () =>
      reject(new Error(`the call did not end within ${CALL_DEADLINE_MS / 1000} s`)),
    )
  })
  const ended = await Promise.race([commentary.ended, late]).finally(() => timer?.cancel())

  say(`5/5  GET /v1/calls/${callId}`)
  const call = await endedCall(client, callId)
  say(JSON.stringify({ data: call }, null, 2))
  const { segments } = await client.readTranscript({ id: callId })
  const recording = await client.readRecording({ id: callId })
  const download = await fetch(recording.url)
  const bytes = (await download.arrayBuffer()).byteLength
  say('')
  say(`Recording (stereo WAV, left caller, right agent): ${recording.url}`)

  const wrong: string[] = []
  if (call.disposition !== 'answered') wrong.push(`the disposition is ${call.disposition}, not answered`)
  if (ended.ending.fault !== 'none') wrong.push(`the call ended with fault ${ended.ending.fault}`)
  if (commentary.failures.length > 0) wrong.push(`failures on the call: ${commentary.failures.join('; ')}`)
  if (commentary.turns < 2) wrong.push('there was no conversation')
  if (to === INTERRUPTER && commentary.interruptions === 0)
    wrong.push('the caller never interrupted the agent')
  if (download.status !== 200 || bytes !== recording.bytes) {
    wrong.push(`the recording's download answered ${download.status} with ${bytes} bytes`)
  }
  if (segments.length === 0) wrong.push('the transcript is empty')
  else if (to === INTERRUPTER && !segments.some(({ interrupted }) => interrupted)) {
    wrong.push('no segment of the transcript is marked as interrupted')
  }
  return { wrong, numberId, from }
}

interface Made {
  readonly numberId: string
  readonly from: string
}

async function runFolder(): Promise<string> {
  const parent = join(projectRoot, '.data', 'demo')
  await mkdir(parent, { recursive: true })
  const runs = (await readdir(parent)).sort()
  for (const old of runs.slice(0, Math.max(0, runs.length - KEPT_RUNS + 1))) {
    await rm(join(parent, old), { recursive: true, force: true })
  }
  const folder = join(parent, new Date(systemClock.wall()).toISOString().replaceAll(':', '-'))
  await mkdir(folder, { recursive: true })
  return folder
}

function howToUse(parley: Parley, key: string, made: Made): void {
  const sip = parley.sip.find((endpoint) => endpoint.transport === 'udp')
  say('')
  say('The service keeps running. Press Ctrl-C to stop it.')
  if (sip !== undefined) {
    say('Call in with a softphone on this machine (no account; PCMA or PCMU):')
    say(`  sip:${made.from}@${sip.address}:${sip.port}`)
    say('  The sandbox does not understand real speech. It says so and reacts to DTMF keys.')
    say('  With an OpenAI-compatible endpoint it understands speech: see docs/vendors.md.')
  }
  say('Place another call:')
  say(`  curl -sX POST ${parley.httpUrl}/v1/calls \\`)
  say(`    -H 'authorization: Bearer ${key}' -H 'content-type: application/json' \\`)
  say(`    -d '{"to":"+919000000012","numberId":"${made.numberId}"}'`)
  say('List calls:')
  say(`  curl -s ${parley.httpUrl}/v1/calls -H 'authorization: Bearer ${key}'`)
}

/** Runs the demo. Returns the exit status. */
async function demo(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      keep: { type: 'boolean', default: false },
      to: { type: 'string', default: INTERRUPTER },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    say(HELP)
    return 0
  }
  const folder = await runFolder()
  say('1/5  starting the service with embedded defaults')
  let callId: string | null = null
  const commentary = new Commentary(() => callId)
  const started = systemClock.now()
  const settings = readSettings(
    {
      PARLEY_DATA: folder,
      PARLEY_HTTP_PORT: '0',
      PARLEY_SIP_LISTEN: 'udp:127.0.0.1:0,tcp:127.0.0.1:0',
      PARLEY_RTP_PORTS: 'any',
      PARLEY_LOG_LEVEL: 'warn',
    },
    projectRoot,
  )
  const parley = await startParley(settings, {
    clock: systemClock,
    log: openLog(settings.logLevel),
    onCallEvent: (event) => commentary.onEvent(event),
  })
  try {
    say(`     ready in ${((systemClock.now() - started) / 1000).toFixed(1)} s, API at ${parley.httpUrl}`)
    const first = parley.firstStart
    if (first === null) throw new Error(`${folder} was not empty`)
    say(`2/5  workspace created; its test key starts with ${first.testKey.slice(0, 13)}`)
    const client = new ParleyClient({ baseUrl: parley.httpUrl, apiKey: first.testKey })
    const { wrong, ...made } = await runDemo(client, values.to, commentary, (id) => {
      callId = id
    })
    say('')
    if (wrong.length > 0) {
      for (const line of wrong) process.stderr.write(`FAILED: ${line}\n`)
      return 1
    }
    say('The demo succeeded.')
    if (values.keep) {
      howToUse(parley, first.testKey, made)
      await new Promise((resolve) => {
        process.once('SIGINT', resolve)
        process.once('SIGTERM', resolve)
      })
      await parley.drain()
    }
    return 0
  } finally {
    await parley.close()
  }
}

demo(process.argv.slice(2)).then(
  (status) => {
    process.exitCode = status
  },
  (error: unknown) => {
    process.stderr.write(`The demo failed: ${errorText(error)}\n`)
    process.exitCode = 1
  },
)
