import { existsSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { ZodError } from 'zod'
import type { AgentSpec } from '../../../media/agent/agent-spec.js'
import { CircuitBreakers } from '../../../media/agent/circuit-breaker.js'
import { type Conversation, openConversation } from '../../../media/agent/conversation/conversation.js'
import { PhraseCache } from '../../../media/agent/tts/phrase-cache.js'
import { type Clock, systemClock } from '../../../media/base/clock.js'
import { EngineError, errorText } from '../../../media/base/errors.js'
import { FRAME_MS } from '../../../media/base/frame.js'
import { silentLog } from '../../../media/base/log.js'
import { Scope } from '../../../media/base/scope.js'
import { isSpeechToSpeech } from '../../../media/vendors/catalogue.js'
import { openVendors } from '../../../media/vendors/open-vendors.js'
import { EMBEDDED } from '../../../media/vendors/vendor-ids.js'
import { AgentConfig, type ConfigPatch, readConfig } from '../../agents/config.js'
import { mergeConfig } from '../../agents/merge.js'
import { resolveVariables } from '../../agents/placeholders.js'
import { buildAgentSpec } from '../../agents/spec.js'
import type { DestinationName } from '../../agents/transfer-tool.js'
import type { Settings } from '../../config/settings.js'
import type { Db } from '../../db/database.js'
import { openEgress } from '../../net/egress.js'
import { parseOptions, UsageError } from '../options.js'
import { type AudioTalkOptions, readInputs, talkInAudio } from './audio-talk.js'
import { PlayedTransfer } from './played-transfer.js'
import { Printer } from './printer.js'
import { openTalkTools } from './tools.js'
import { printedVoice, TypedCaller } from './typed-talk.js'

const RATE = 8000
const TAIL_MS = 400

/** Input and output of the command. Tests pass their own. */
export interface TalkStreams {
  readonly input: NodeJS.ReadableStream
  write(text: string): void
}

const HELP = `parley talk [--agent FILE_OR_ID] [--variable NAME=VALUE ...] [--trace]
parley talk [--agent FILE_OR_ID] [--variable NAME=VALUE ...] --in FILE.wav ... [options]

Talks to an agent without telephony, with its real prompt, model, tools and turn-taking.

Without --in the conversation is in text, without STT and TTS. Lines come from standard input.
When the agent transfers the call, the next lines are those of the person who is called: 1 takes the
call, 2 declines it, - does not answer. With handoff warm, words decide too, and questions are answered.

With --in it is in audio: the agent's STT hears the recordings and its TTS answers, in real time, or as
fast as possible when all vendors of the agent are embedded. Prints transcript, delays and usage.

  --agent FILE_OR_ID   a JSON file like the body of POST /v1/agents, or the draft of a stored agent
  --variable NAME=VALUE  the value of {{NAME}}; may be repeated
  --trace              prints the delays of each reply, in text as well
  --in FILE.wav        what the caller says; may be repeated. Each file plays after the agent has answered
                       the one before. 16-bit PCM of 8, 16, 22.05, 24, 44.1 or 48 kHz; the left channel
                       of a stereo file
  --out FILE.wav       writes the conversation: caller left, agent right. Replaces an existing file
  --agent-only         writes only the agent to --out, in mono
  --at-once            plays the recordings one after the other from the start, without waiting for the
                       agent: for interruptions
  --said TEXT          the words of each --in, for parley-sandbox, which cannot recognise speech

Exit status 0; 1 when a provider failed; 2 for wrong options or files.
`

/**
 * Runs `parley talk`: the agent's prompt, model, tools and turn-taking without telephony, in text or in
 * audio. Ends with the conversation or with the input. Returns exit status 0, or 1 when a provider failed.
 */
export async function talkCommand(
  args: readonly string[],
  withDatabase: (work: (db: Db, settings: Settings) => Promise<void>) => Promise<number>,
  streams: TalkStreams = { input: process.stdin, write: (text) => void process.stdout.write(text) },
): Promise<number> {
  const { values } = parseOptions(args, {
    agent: { type: 'string' },
    variable: { type: 'string', multiple: true, default: [] },
    trace: { type: 'boolean', default: false },
    in: { type: 'string', multiple: true, default: [] },
    out: { type: 'string' },
    'agent-only': { type: 'boolean', default: false },
    'at-once': { type: 'boolean', default: false },
    said: { type: 'string', multiple: true, default: [] },
    help: { type: 'boolean', default: false },
  })
  if (values.help) {
    streams.write(HELP)
    return 0
  }
  const audio = audioOptions(values)
  let status = 0
  await withDatabase(async (db, settings) => {
    const { spec, destinations } = await specOf(
      db,
      settings,
      values.agent,
      variablesOf(values.variable ?? []),
    )
    if (audio === null && isSpeechToSpeech(spec.languageModel.vendor)) {
      throw new UsageError('the model of this agent works on audio only: use --in')
    }
    status =
      audio === null
        ? await talk(spec, settings, streams, {
            trace: values.trace === true,
            clock: systemClock,
            destinations,
          })
        : await talkInAudio(spec, settings, audio, (text) => streams.write(text))
  })
  return status
}

async function talk(
  spec: AgentSpec,
  settings: Settings,
  streams: TalkStreams,
  {
    trace,
    clock,
    destinations,
  }: {
    readonly trace: boolean
    readonly clock: Clock
    readonly destinations: readonly DestinationName[]
  },
): Promise<number> {
  const scope = new Scope()
  const caller = new TypedCaller()
  const printer = new Printer({ write: (text) => streams.write(text), trace, times: false })
  const egress = scope.add(openEgress({ allowPrivate: settings.allowPrivateUrls }))
  const vendors = openVendors({
    providers: settings.providers,
    // `printedVoice` below replaces the agent's voice, so nothing is synthesized.
    synthesis: {
      synthesize: () => Promise.reject(new EngineError('internal', 'no speech is synthesized here')),
    },
    clock,
    log: silentLog,
  })
  const { vendor } = spec.languageModel
  const transfer = new PlayedTransfer({
    ...{ spec, destinations, clock, printer },
    // The rule-driven model cannot read a conversation.
    model: vendor === EMBEDDED ? null : vendors.languageModel(vendor),
    conversation: () => conversation,
  })
  const conversation: Conversation = openConversation({
    id: 'agent',
    spec,
    rate: RATE,
    vendors: { ...vendors, speechToText: () => caller.recogniser, textToSpeech: () => printedVoice },
    breakers: new CircuitBreakers(clock),
    phrases: new PhraseCache(),
    vad: caller.vad,
    clock,
    emit: (event) => {
      printer.event(event)
      transfer.event(event)
    },
    log: silentLog,
    tools: openTalkTools(spec, { egress, clock, printer, transfer }),
    onFault: (error) => printer.fault(error),
  })
  await conversation.prepare()
  conversation.start()
  let at = 0
  const frame = new Int16Array((RATE / 1000) * FRAME_MS)
  const tick = (): void => {
    conversation.pull(frame, at)
    conversation.push({ pcm: frame.fill(0), rate: RATE, at })
    at += frame.length
    next = clock.after(FRAME_MS, tick)
  }
  let next = clock.after(0, tick)
  scope.own(() => next.cancel())
  const reader = createInterface({ input: streams.input })
  scope.own(() => reader.close())
  // Taken now: lines that arrive before the iteration starts would be lost.
  const lines = reader[Symbol.asyncIterator]()
  try {
    if (spec.openingLine !== null) await printer.nextAgentTurn()
    for await (const line of { [Symbol.asyncIterator]: () => lines }) {
      if (printer.ended) break
      if (line.trim() === '') continue
      if (transfer.active) {
        if (await transfer.line(line.trim())) break
        continue
      }
      caller.say(line.trim())
      await Promise.race([printer.nextAgentTurn(), transfer.began()])
      // An agent that hangs up does so shortly after its last word.
      await new Promise<void>((resolve) => clock.after(TAIL_MS, resolve))
      if (printer.ended) break
    }
  } finally {
    conversation.close('hangup')
    await scope.close()
  }
  return printer.hasFailed ? 1 : 0
}

/** Returns null for a conversation in text, which takes no audio options. */
function audioOptions(values: {
  readonly in?: string[]
  readonly out?: string
  readonly 'agent-only'?: boolean
  readonly 'at-once'?: boolean
  readonly said?: string[]
}): AudioTalkOptions | null {
  const paths = values.in ?? []
  const given = {
    out: values.out ?? null,
    agentOnly: values['agent-only'] === true,
    ignoreAgent: values['at-once'] === true,
    said: values.said ?? [],
  }
  if (paths.length === 0) {
    if (given.out !== null || given.agentOnly || given.ignoreAgent || given.said.length > 0) {
      throw new UsageError('--out, --agent-only, --at-once and --said require --in')
    }
    return null
  }
  if (given.agentOnly && given.out === null) throw new UsageError('--agent-only requires --out')
  return { ...given, inputs: readInputs(paths) }
}

function variablesOf(given: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    given.map((pair) => {
      const at = pair.indexOf('=')
      if (at < 1) throw new UsageError(`--variable ${pair}: write name=value`)
      return [pair.slice(0, at), pair.slice(at + 1)]
    }),
  )
}

/**
 * Returns the draft of a stored agent, the configuration of a JSON file like the body of POST /v1/agents, or
 * a default agent.
 */
async function specOf(
  db: Db,
  settings: Settings,
  agent: string | undefined,
  variables: Readonly<Record<string, string>>,
): Promise<{ readonly spec: AgentSpec; readonly destinations: readonly DestinationName[] }> {
  const { name, config } = await agentOf(db, agent)
  const destinations = await destinationsOf(db, config)
  const { values, missing } = resolveVariables(config, variables)
  if (missing.length > 0) throw new UsageError(`give --variable for: ${missing.join(', ')}`)
  const spec = buildAgentSpec(
    {
      agentId: 'agt_talk',
      agentVersionId: 'agv_talk',
      name,
      config,
      direction: 'inbound',
      from: '+919000000055',
      to: '+919000000000',
      variables: values,
      destinations,
      now: systemClock.wall(),
    },
    settings.providers,
  )
  if (spec === null) throw new UsageError('a voice or model of this agent is not configured here')
  return { spec, destinations }
}

/** Returns the names of the destinations of an agent. Those that are not stored here are named by their id. */
async function destinationsOf(db: Db, { callSettings }: AgentConfig): Promise<readonly DestinationName[]> {
  const ids = callSettings.transfer.destinations.flatMap(({ destinationId, fallbackDestinationId }) =>
    fallbackDestinationId === null ? [destinationId] : [destinationId, fallbackDestinationId],
  )
  const stored = await db
    .selectFrom('transferDestinations')
    .select(['id', 'key', 'label'])
    .where('id', 'in', [...ids, ''])
    .execute()
  return [...new Set(ids)].map((id) => stored.find((one) => one.id === id) ?? { id, key: id, label: id })
}

async function agentOf(
  db: Db,
  agent: string | undefined,
): Promise<{ readonly name: string; readonly config: AgentConfig }> {
  if (agent === undefined) return { name: 'Asha', config: AgentConfig.parse({}) }
  if (existsSync(agent)) return fromFile(agent)
  const row = await db
    .selectFrom('agents')
    .select(['name', 'draft'])
    .where('id', '=', agent)
    .where('deletedAt', 'is', null)
    .executeTakeFirst()
  if (row === undefined) throw new UsageError(`--agent ${agent}: no such file, and no such agent`)
  return { name: row.name, config: readConfig(row.draft) }
}

function fromFile(path: string): { readonly name: string; readonly config: AgentConfig } {
  let body: unknown
  try {
    body = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${errorText(error)}`)
  }
  if (typeof body !== 'object' || body === null)
    throw new UsageError(`${path} does not contain a JSON object`)
  const { name, description: _description, purpose: _purpose, ...config } = body as Record<string, unknown>
  try {
    const merged = mergeConfig(AgentConfig.parse({}), config as ConfigPatch)
    return { name: typeof name === 'string' ? name : 'Agent', config: merged }
  } catch (error) {
    if (!(error instanceof ZodError)) throw error
    const [issue] = error.issues
    throw new UsageError(`${path}: ${issue?.path.join('.')}: ${issue?.message}`)
  }
}
