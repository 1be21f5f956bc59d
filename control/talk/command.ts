import { existsSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { ZodError } from 'zod'
import { openConversation } from '../../media/agent/conversation.js'
import type { ConversationEvent } from '../../media/agent/events.js'
import type { AgentSpec } from '../../media/agent/spec.js'
import type { ToolRunner } from '../../media/agent/tools.js'
import { OPENAI_REALTIME } from '../../media/agent/vendors/catalogue.js'
import { openVendors } from '../../media/agent/vendors/registry.js'
import { type Clock, systemClock } from '../../media/base/clock.js'
import { EngineError, errorText } from '../../media/base/errors.js'
import { silentLog } from '../../media/base/log.js'
import { Scope } from '../../media/base/scope.js'
import { FRAME_MS } from '../../media/frame.js'
import { AgentConfig, type ConfigPatch, readConfig } from '../agents/config.js'
import { mergeConfig } from '../agents/merge.js'
import { resolveVariables } from '../agents/placeholders.js'
import { buildSpec } from '../agents/spec.js'
import { parseOptions, UsageError } from '../command-line.js'
import type { Settings } from '../config.js'
import type { Db } from '../db/open.js'
import { openEgress } from '../egress.js'
import { buildRequest } from '../tools/http-request.js'
import { sendTool } from '../tools/send.js'
import { printedVoice, TypedCaller } from './typed.js'

const RATE = 8000
const TAIL_MS = 400

/** Where the command reads and writes; a test brings its own. */
export interface TalkStreams {
  readonly input: NodeJS.ReadableStream
  write(text: string): void
}

/**
 * `parley talk`: the agent's prompt, model, tools and turn-taking without telephony, recognition or
 * synthesis. Ends with the conversation, or with the input. Exit status 0, or 1 when a provider failed.
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
  })
  let status = 0
  await withDatabase(async (db, settings) => {
    const spec = await specOf(db, settings, values.agent, variablesOf(values.variable ?? []))
    status = await talk(spec, settings, streams, { trace: values.trace === true, clock: systemClock })
  })
  return status
}

async function talk(
  spec: AgentSpec,
  settings: Settings,
  streams: TalkStreams,
  { trace, clock }: { readonly trace: boolean; readonly clock: Clock },
): Promise<number> {
  const scope = new Scope()
  const caller = new TypedCaller()
  const printer = new Printer(streams, trace)
  const egress = scope.add(openEgress({ allowPrivate: settings.allowPrivateUrls }))
  const vendors = openVendors({
    providers: settings.providers,
    // Nothing is synthesised here: the voice below takes its place.
    synthesis: { synthesize: () => Promise.reject(new EngineError('internal', 'nobody listens')) },
    clock,
    log: silentLog,
  })
  const conversation = openConversation({
    id: 'agent',
    spec,
    rate: RATE,
    vendors: { ...vendors, speechToText: () => caller.recogniser, textToSpeech: () => printedVoice },
    vad: caller.vad,
    clock,
    emit: (event) => printer.event(event),
    log: silentLog,
    tools: toolsOf(spec, { egress, clock, printer }),
    onFault: (error) => printer.fault(error),
  })
  await conversation.prepare()
  conversation.start(null)
  let at = 0
  const frame = new Int16Array((RATE / 1000) * FRAME_MS)
  const beat = (): void => {
    conversation.pull(frame, at)
    conversation.push({ pcm: frame.fill(0), rate: RATE, at })
    at += frame.length
    next = clock.after(FRAME_MS, beat)
  }
  let next = clock.after(0, beat)
  scope.own(() => next.cancel())
  const reader = createInterface({ input: streams.input })
  scope.own(() => reader.close())
  // From now on: lines that come before somebody iterates would be lost.
  const lines = reader[Symbol.asyncIterator]()
  try {
    if (spec.openingLine !== null) await printer.agentSpoke()
    for await (const line of { [Symbol.asyncIterator]: () => lines }) {
      if (printer.over) break
      if (line.trim() === '') continue
      caller.say(line.trim())
      await printer.agentSpoke()
      // An agent that hangs up does so a moment after its last word.
      await new Promise<void>((resolve) => clock.after(TAIL_MS, resolve))
      if (printer.over) break
    }
  } finally {
    conversation.close('hangup')
    await scope.close()
  }
  return printer.failed ? 1 : 0
}

/** Prints what happens, and lets the next line wait for the agent's answer. */
class Printer {
  over = false
  failed = false
  readonly #streams: TalkStreams
  readonly #trace: boolean
  #waiting: (() => void) | null = null

  constructor(streams: TalkStreams, trace: boolean) {
    this.#streams = streams
    this.#trace = trace
  }

  /** Resolves with the agent's next complete turn, or the end of the conversation. */
  agentSpoke(): Promise<void> {
    return new Promise((resolve) => {
      if (this.over) resolve()
      else this.#waiting = resolve
    })
  }

  event(event: ConversationEvent): void {
    switch (event.type) {
      case 'turn':
        if (event.turn.speaker === 'caller') this.line(`you    ${event.turn.text}`)
        else {
          this.line(`agent  ${event.turn.heardText}`)
          this.#wake()
        }
        return
      case 'tool':
        this.line(`tool   ${event.name}(${JSON.stringify(event.arguments)}) -> ${event.result}`)
        return
      case 'trace': {
        const { speechEndMs, decidedMs, modelFirstTokenMs, firstSentenceMs } = event.trace
        const since = (ms: number | null): string =>
          ms === null ? '-' : `${Math.round(ms - speechEndMs)} ms`
        if (this.#trace) {
          this.line(
            `       asked after ${since(decidedMs)}, first token ${since(modelFirstTokenMs)}, first sentence ${since(firstSentenceMs)}`,
          )
        }
        return
      }
      case 'trouble':
        this.failed = true
        this.line(`!      ${event.part}: ${event.code}: ${event.message}`)
        return
      case 'finished':
        this.line(`       ended: ${event.why}`)
        this.over = true
        this.#wake()
        return
      default:
        return
    }
  }

  fault(error: unknown): void {
    this.failed = true
    this.over = true
    this.line(`!      ${errorText(error)}`)
    this.#wake()
  }

  line(text: string): void {
    this.#streams.write(`${text}\n`)
  }

  #wake(): void {
    const wake = this.#waiting
    this.#waiting = null
    wake?.()
  }
}

/** HTTP tools are sent without their credentials: this command may read the agent, not its secrets. */
function toolsOf(
  spec: AgentSpec,
  {
    egress,
    clock,
    printer,
  }: { readonly egress: ReturnType<typeof openEgress>; readonly clock: Clock; readonly printer: Printer },
): ToolRunner {
  return {
    run({ tool, arguments: given, timeoutMs }, done) {
      let cancelled = false
      const found = spec.tools.find(({ name }) => name === tool)
      const sent =
        found?.action.kind === 'http'
          ? sendTool({
              egress,
              clock,
              request: buildRequest(found.action.request, given, { primary: null, secondary: null }),
              timeoutMs,
            })
          : Promise.resolve(`Failed: there is no request named ${tool}.`)
      sent.then(
        (result) => {
          if (!cancelled) done(result)
        },
        (error: unknown) => {
          if (!cancelled) done(`Failed: ${errorText(error)}`)
        },
      )
      return {
        cancel: () => {
          cancelled = true
        },
      }
    },
    press(digits) {
      printer.line(`keys   ${digits}`)
      return true
    },
  }
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

/** The draft of an agent of the database, a JSON file like the body of POST /v1/agents, or a plain agent. */
async function specOf(
  db: Db,
  settings: Settings,
  agent: string | undefined,
  variables: Readonly<Record<string, string>>,
): Promise<AgentSpec> {
  const { name, config } = await agentOf(db, agent)
  const { values, missing } = resolveVariables(config, variables)
  if (missing.length > 0) throw new UsageError(`give --variable for: ${missing.join(', ')}`)
  const spec = buildSpec(
    {
      agentId: 'agt_talk',
      agentVersionId: 'agv_talk',
      name,
      config,
      direction: 'inbound',
      from: '+919000000055',
      to: '+919000000000',
      variables: values,
      now: systemClock.wall(),
    },
    settings.providers,
  )
  if (spec === null) throw new UsageError('a voice or model of this agent is not configured here')
  if (spec.languageModel.vendor === OPENAI_REALTIME) {
    throw new UsageError(
      'the model of this agent hears and speaks by itself: it cannot be talked to in writing',
    )
  }
  return spec
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
  if (typeof body !== 'object' || body === null) throw new UsageError(`${path} holds no JSON object`)
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
