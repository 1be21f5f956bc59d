import { type ChildProcess, fork } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Clock, Timer } from '../../media/base/clock.js'
import { EngineError } from '../../media/base/errors.js'
import type { IndexedDocument, PassageExtras } from '../../media/knowledge/passage-index.js'
import type { Passage } from '../../media/knowledge/passages.js'
import type { DocumentReply, DocumentTask } from './document-process.js'

/** Maximum number of tasks that wait or run: of all owners, and of one. */
const MAX_WAITING = 32
const MAX_OF_OWNER = 4
/** Time limit of a task (ms), without its wait. */
const LIMIT_MS: Readonly<Record<DocumentTask['kind'], number>> = { read: 60_000, index: 300_000 }
const MIB = 1024 * 1024
/** Memory limit of a task. The heap of the process is limited too; parsers use memory outside of it. */
const LIMIT_BYTES: Readonly<Record<DocumentTask['kind'], number>> = { read: 768 * MIB, index: 2048 * MIB }
const HEAP_MIB = 1536
const MEMORY_CHECK_MS = 250
/** Time after which an unused process ends (ms). */
const IDLE_MS = 30_000
const PAGE_BYTES = 4096

/**
 * Result of reading a document: its passages, with warnings about parts that are left out, or the reason of a
 * refusal. Warnings and reasons are sentences for the owner.
 */
export type ReadDocument =
  | {
      readonly kind: 'passages'
      readonly passages: readonly Passage[]
      readonly warnings: readonly string[]
    }
  | { readonly kind: 'refused'; readonly reason: string }

/** An index, or why none can be built, as a sentence for the owner of the documents. */
export type BuiltIndex =
  | { readonly kind: 'index'; readonly bytes: Uint8Array }
  | { readonly kind: 'refused'; readonly reason: string }

/**
 * The reason why a task ended: its time limit, its memory limit, the limit of its heap, or another failure of the
 * process.
 */
type Stopped = { readonly kind: 'stopped'; readonly by: 'time' | 'memory' | 'heap' | 'crash' }

const UNREADABLE = 'The document cannot be read: it made the reader fail. Save it again with another program.'
const TOO_LARGE =
  'The document takes too much memory to read. Split it, or save it again with another program.'
const NOT_READ: Readonly<Record<Stopped['by'], string>> = {
  time: 'The document takes more than a minute to read. Split it, or save it again with another program.',
  memory: TOO_LARGE,
  heap: TOO_LARGE,
  crash: UNREADABLE,
}

/** `DocumentJobs` as a build uses it. */
export type DocumentReader = Pick<DocumentJobs, 'read' | 'index'>

export interface DocumentJobsOptions {
  readonly clock: Clock
  /** Limits of a test. */
  readonly limitMs?: number
  readonly limitBytes?: number
  readonly heapMib?: number
}

/** A task that waits for its turn. `begin` runs it, settles its promise, and resolves when it has ended. */
interface WaitingTask {
  begin(): Promise<void>
}

/**
 * Reads documents and builds indexes, one at a time, in a child process that is replaced after a failure. The owners
 * of documents take turns: an owner waits for at most one task of each other owner.
 */
export class DocumentJobs {
  readonly #clock: Clock
  readonly #options: DocumentJobsOptions
  #child: ChildProcess | null = null
  /** Waiting tasks by owner. The first owner is next; a map keeps the order in which owners were added. */
  readonly #turns = new Map<string, WaitingTask[]>()
  /** Tasks that wait or run, by owner. */
  readonly #tasks = new Map<string, number>()
  /** The loop that runs the tasks. Null when no task waits or runs. */
  #working: Promise<void> | null = null
  #closed = false
  #idle: Timer | null = null

  constructor(options: DocumentJobsOptions) {
    this.#clock = options.clock
    this.#options = options
  }

  /**
   * Reads a document of an owner (an organization). Rejects with EngineError `overloaded`, `closed`, or `internal`
   * for a fault of the reader.
   */
  async read(owner: string, contentType: string, bytes: Uint8Array): Promise<ReadDocument> {
    const reply = await this.#queued(owner, { kind: 'read', contentType, bytes })
    if (reply.kind === 'passages' || reply.kind === 'refused') return reply
    if (reply.kind === 'stopped') return { kind: 'refused', reason: NOT_READ[reply.by] }
    throw new EngineError('internal', reply.kind === 'failed' ? reply.message : 'the reader answered wrongly')
  }

  /** Builds an index. Rejects with EngineError like `read`, also when the process fails within its limits. */
  async index(
    owner: string,
    documents: readonly IndexedDocument[],
    extras: PassageExtras = {},
  ): Promise<BuiltIndex> {
    const reply = await this.#queued(owner, { kind: 'index', documents, extras })
    if (reply.kind === 'index') return reply
    if (reply.kind === 'stopped' && reply.by !== 'crash') {
      return {
        kind: 'refused',
        reason: `${sizeOf(documents)} ${this.#limitOfIndex(reply.by)}. Delete documents.`,
      }
    }
    throw new EngineError('internal', reply.kind === 'failed' ? reply.message : 'the reader made no index')
  }

  #limitOfIndex(by: 'time' | 'memory' | 'heap'): string {
    const { limitMs = LIMIT_MS.index, limitBytes = LIMIT_BYTES.index, heapMib = HEAP_MIB } = this.#options
    if (by === 'time') return `take more than ${limitMs / 1000} seconds to index`
    return `take more than ${by === 'heap' ? heapMib : limitBytes / MIB} MiB of memory to index`
  }

  /** Ends the process. Waiting tasks are rejected with `closed`. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true
    this.#end()
    await this.#working
  }

  async #queued(owner: string, task: DocumentTask): Promise<DocumentReply | Stopped> {
    if (this.#closed) throw new EngineError('closed', 'the document reader is closed')
    const own = this.#tasks.get(owner) ?? 0
    const all = [...this.#tasks.values()].reduce((sum, count) => sum + count, 0)
    if (own >= MAX_OF_OWNER || all >= MAX_WAITING) {
      throw new EngineError('overloaded', 'the queue of documents is full', { retryable: true })
    }
    this.#tasks.set(owner, own + 1)
    return new Promise((resolve, reject) => {
      const begin = async (): Promise<void> => {
        try {
          resolve(await this.#run(task))
        } catch (error) {
          reject(error)
        }
        const left = (this.#tasks.get(owner) ?? 1) - 1
        if (left === 0) this.#tasks.delete(owner)
        else this.#tasks.set(owner, left)
      }
      const waiting = this.#turns.get(owner)
      if (waiting === undefined) this.#turns.set(owner, [{ begin }])
      else waiting.push({ begin })
      this.#working ??= this.#work()
    })
  }

  /** Runs waiting tasks until there are none. After each task its owner goes to the end of the line. */
  async #work(): Promise<void> {
    for (let next = this.#nextTask(); next !== undefined; next = this.#nextTask()) await next.begin()
    this.#working = null
  }

  #nextTask(): WaitingTask | undefined {
    const [turn] = this.#turns
    if (turn === undefined) return undefined
    const [owner, waiting] = turn
    const next = waiting.shift()
    this.#turns.delete(owner)
    if (waiting.length > 0) this.#turns.set(owner, waiting)
    return next
  }

  async #run(task: DocumentTask): Promise<DocumentReply | Stopped> {
    if (this.#closed) throw new EngineError('closed', 'the document reader is closed')
    this.#idle?.cancel()
    const child = this.#child ?? this.#open()
    const limitBytes = this.#options.limitBytes ?? LIMIT_BYTES[task.kind]
    const timers = new Set<Timer>()
    try {
      return await new Promise<DocumentReply | Stopped>((resolve, reject) => {
        const stop = (by: Stopped['by']): void => {
          this.#end()
          resolve({ kind: 'stopped', by })
        }
        child.once('message', (reply) => resolve(reply as DocumentReply))
        child.once('exit', (_code, signal) => {
          if (this.#closed) reject(new EngineError('closed', 'the document reader is closed'))
          // V8 aborts the process whose heap is full.
          else stop(signal === 'SIGABRT' ? 'heap' : 'crash')
        })
        child.once('error', () => stop('crash'))
        timers.add(this.#clock.after(this.#options.limitMs ?? LIMIT_MS[task.kind], () => stop('time')))
        const check = (): void => {
          const timer = this.#clock.after(MEMORY_CHECK_MS, async () => {
            timers.delete(timer)
            if ((await memoryOf(child)) > limitBytes) stop('memory')
            else if (timers.size > 0) check()
          })
          timers.add(timer)
        }
        check()
        child.send(task, (error) => {
          if (error !== null) stop('crash')
        })
      })
    } finally {
      for (const timer of timers) timer.cancel()
      timers.clear()
      child.removeAllListeners()
      // An error after its last task must not end this process.
      child.on('error', () => this.#end())
      this.#idle = this.#clock.after(IDLE_MS, () => this.#end())
    }
  }

  #open(): ChildProcess {
    const child = fork(fileURLToPath(new URL('./document-process.js', import.meta.url)), {
      execArgv: [`--max-old-space-size=${this.#options.heapMib ?? HEAP_MIB}`],
      env: {},
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    this.#child = child
    return child
  }

  #end(): void {
    this.#idle?.cancel()
    this.#child?.kill('SIGKILL')
    this.#child = null
  }
}

function sizeOf(documents: readonly IndexedDocument[]): string {
  const passages = documents.flatMap((document) => document.passages)
  const characters = passages.reduce((sum, { text }) => sum + text.length, 0)
  return `The ${passages.length} passages of the documents (${characters} characters)`
}

/** Returns the resident memory of a process in bytes, 0 where the system does not tell (other than Linux). */
async function memoryOf({ pid }: ChildProcess): Promise<number> {
  try {
    const [, resident = '0'] = (await readFile(`/proc/${pid}/statm`, 'utf8')).split(' ')
    return Number(resident) * PAGE_BYTES
  } catch {
    return 0
  }
}
