import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { ParleyError } from '../../../clients/typescript/errors.js'
import type { SessionApi } from './api.js'
import { type Change, tellChanges } from './changes.js'
import { useKey, useSession } from './session.js'

/** Changes of this time are read together (ms). */
const GATHER_MS = 500
/** The service sends something every 15 s (ms). */
const SILENT_MS = 45_000
const FIRST_WAIT_MS = 1_000
const LAST_WAIT_MS = 30_000
/** Time after which a hidden page closes its stream (ms). */
const HIDDEN_MS = 20_000
/** Time without a stream that the user is told about (ms). */
const LOST_MS = 5_000

type Parts = readonly unknown[]

/** Lists that follow the changes row by row (FollowedList.tsx). A change does not make the whole list stale. */
const FOLLOWED: readonly unknown[] = ['calls', 'events']

/** Returns the cache keys that a change makes stale. */
function keysOf({ kind, id }: Change): readonly Parts[] {
  switch (kind) {
    case 'call':
      return [
        ...[
          ['call', id],
          ['calls', 'live'],
          ['calls', 'latest'],
        ],
        ...KEYS.filter(([name]) => name !== 'call' && name !== 'transcript' && !FOLLOWED.includes(name)),
      ]
    case 'transcript':
      // The first words make the call have a transcript.
      return [
        ['transcript', id],
        ['call', id],
      ]
    case 'campaign':
      return [['campaigns'], ['campaign', id], ['overview']]
    case 'wallet':
      return [['wallet'], ['ledger'], ['overview']]
    default:
      return [['overview']]
  }
}

/** Cache keys of what may change while it is looked at. */
const KEYS: readonly Parts[] = [
  ...[['calls'], ['call'], ['transcript'], ['campaigns'], ['campaign'], ['limits'], ['wallet'], ['usage']],
  ...[['overview'], ['first-steps'], ['events'], ['ledger']],
]

/**
 * Follows the changes of the environment while the page is visible, and reads again what they concern. Returns
 * true when the stream is interrupted. `callId` is the call whose transcript is shown.
 */
export function useLive(callId: string | null): boolean {
  const { api } = useSession()
  const client = useQueryClient()
  const key = useKey()
  const place = key().join(' ')
  const position = useRef<{ readonly place: string; id: string | null }>({ place, id: null })
  const [lost, setLost] = useState(false)
  const visible = useVisible()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the keys belong to the place
  useEffect(() => {
    if (!visible) return
    if (position.current.place !== place) position.current = { place, id: null }
    const end = new AbortController()
    const gathered = gather(client, key)
    void follow({
      api,
      callId,
      position: position.current,
      signal: end.signal,
      changed: gathered.changed,
      missed: () => gathered.add(KEYS),
      connected: (is) => setLost(!is),
      signedOut: () => void client.invalidateQueries({ queryKey: ['session'] }),
    })
    return () => {
      end.abort()
      gathered.close()
    }
  }, [api, callId, client, place, visible])
  return lost
}

interface Following {
  readonly api: SessionApi
  readonly callId: string | null
  readonly position: { id: string | null }
  readonly signal: AbortSignal
  readonly changed: (change: Change) => void
  /** Earlier changes may be missing. */
  readonly missed: () => void
  readonly connected: (is: boolean) => void
  readonly signedOut: () => void
}

/** Reads the stream, and opens it again where it ended, until the signal. */
async function follow(following: Following): Promise<void> {
  const { signal, connected, signedOut } = following
  let waitMs = FIRST_WAIT_MS
  let late: ReturnType<typeof setTimeout> | undefined
  signal.addEventListener('abort', () => clearTimeout(late))
  while (!signal.aborted) {
    late ??= setTimeout(() => connected(false), LOST_MS)
    try {
      await read(following, () => {
        clearTimeout(late)
        late = undefined
        connected(true)
        waitMs = FIRST_WAIT_MS
      })
    } catch (error) {
      if (error instanceof ParleyError && error.status === 401) return signedOut()
    }
    // The spread keeps the pages of a restarted service from returning all at once.
    await pause(waitMs * (0.5 + Math.random()), signal)
    waitMs = Math.min(LAST_WAIT_MS, waitMs * 2)
  }
}

async function read(following: Following, opened: () => void): Promise<void> {
  const { api, callId, position, signal, changed, missed, signedOut } = following
  const silence = new AbortController()
  let timer = setTimeout(() => silence.abort(), SILENT_MS)
  try {
    const stream = await api.watchLive(callId === null ? {} : { query: { callId } }, {
      signal: AbortSignal.any([signal, silence.signal]),
      ...(position.id === null ? {} : { lastEventId: position.id }),
    })
    stream.onActivity = () => {
      clearTimeout(timer)
      timer = setTimeout(() => silence.abort(), SILENT_MS)
    }
    for await (const message of stream) {
      position.id = stream.lastEventId
      if (message.event === 'hello') {
        opened()
        if (!message.data.resumed) missed()
      } else if (message.event === 'changed') changed(message.data)
      else if (message.event === 'end' && message.data.reason === 'credential') signedOut()
    }
  } finally {
    clearTimeout(timer)
  }
}

/** Makes queries stale and tells the followed lists what changed, at most every half second. */
function gather(client: QueryClient, key: (...parts: readonly unknown[]) => readonly unknown[]) {
  const keys = new Map<string, Parts>()
  const changes = new Map<string, Change>()
  let timer: ReturnType<typeof setTimeout> | undefined
  const flush = (): void => {
    timer = undefined
    for (const parts of keys.values()) {
      void client.invalidateQueries({
        queryKey: key(...parts),
        // Reading a list again would take away the page that the user has asked for.
        predicate: ({ state }) => state.fetchStatus === 'idle' || state.fetchMeta?.fetchMore == null,
      })
    }
    tellChanges([...changes.values()])
    keys.clear()
    changes.clear()
  }
  const add = (more: readonly Parts[]): void => {
    for (const parts of more) keys.set(parts.join(' '), parts)
    timer ??= setTimeout(flush, GATHER_MS)
  }
  return {
    add,
    changed(change: Change) {
      changes.set(`${change.kind} ${change.id}`, change)
      add(keysOf(change))
    },
    close: () => clearTimeout(timer),
  }
}

/** Returns false some time after the page was hidden. */
function useVisible(): boolean {
  const [visible, setVisible] = useState(true)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const look = () => {
      clearTimeout(timer)
      if (document.visibilityState === 'visible') setVisible(true)
      else timer = setTimeout(() => setVisible(false), HIDDEN_MS)
    }
    document.addEventListener('visibilitychange', look)
    return () => {
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', look)
    }
  }, [])
  return visible
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
