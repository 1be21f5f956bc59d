import { Button } from '@mantine/core'
import { type InfiniteData, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import type { Page as ListPage } from '../../../../clients/typescript/http-client.js'
import { type Change, followChanges } from '../changes.js'
import { useKey } from '../session.js'
import { type Trail, useList } from './List.js'

/** Most items that are read one by one at once, and the pause before further ones (ms). */
const MOST_READ = 20
const PAUSE_MS = 500
/** A page that was scrolled further than this is being read (pixels). */
const TOP_PX = 80

type Data<T> = InfiniteData<ListPage<T, never>, Trail>

/** Items that are newer than the shown list. `more` says that `count` is only a part. */
interface Newer {
  readonly count: number
  readonly more: boolean
}

const NONE: Newer = { count: 0, more: false }

/**
 * Reads a list as `useList` does, newest first, and follows its changes: a changed item is replaced where it stands. A new item
 * appears at once on a page that is at its top; otherwise `newer` counts it until `show` is called. Only the first page is read
 * again. An item that a change takes out of the filters stays until the list is opened again.
 */
export function useFollowedList<T>(
  name: readonly unknown[],
  fetchPage: (cursor: string | undefined) => Promise<ListPage<T>>,
  follow: {
    readonly idOf: (item: T) => string
    /** The changes that concern the list. */
    readonly concerns: (change: Change) => boolean
    /** Reads one item by the id of its change. Absent: the first page tells enough. */
    readonly read?: (id: string) => Promise<T>
  },
) {
  const key = useKey()
  const client = useQueryClient()
  // Reading all pages again when the window gets the focus would move the rows.
  const query = useList(name, fetchPage, { refetchOnFocus: false })
  const [newer, setNewer] = useState(NONE)
  const place = JSON.stringify(key(...name))
  const latest = useRef({ fetchPage, follow })
  latest.current = { fetchPage, follow }
  useEffect(() => {
    const queryKey = JSON.parse(place) as readonly unknown[]
    let waiting: Set<string> | null = null
    let running = false
    let current = true
    setNewer(NONE)
    const run = async (): Promise<void> => {
      running = true
      while (waiting !== null && current) {
        const ids = [...waiting]
        waiting = null
        try {
          const left = await update(ids)
          if (left.length > 0) {
            await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
            // Before those that changed meanwhile, so that each has its turn.
            waiting = new Set([...left, ...(waiting ?? [])])
          }
        } catch {
          // The rows stay as they are. The list is read again when it is opened the next time.
          void client.invalidateQueries({ queryKey, refetchType: 'none' })
        }
      }
      running = false
    }
    /** Returns the ids that are still to be read. */
    const update = async (ids: readonly string[]): Promise<readonly string[]> => {
      const { idOf, read } = latest.current.follow
      const first = await latest.current.fetchPage(undefined)
      const changed = new Map(first.items.map((item) => [idOf(item), item]))
      const listed = idsOf(client.getQueryData<Data<T>>(queryKey), idOf)
      const others = read === undefined ? [] : ids.filter((id) => listed.has(id) && !changed.has(id))
      if (read !== undefined) {
        const items = await Promise.all(others.slice(0, MOST_READ).map(read))
        for (const item of items) changed.set(idOf(item), item)
      }
      if (!current) return []
      // The new items may have been shown meanwhile.
      const shown = client.getQueryData<Data<T>>(queryKey)
      const known = idsOf(shown, idOf)
      // Deep in the list its beginning is not kept: it is read again on the way back.
      const fresh = isAtBeginning(shown) ? first.items.filter((item) => !known.has(idOf(item))) : []
      const complete = fresh.length < first.items.length || !first.hasMore
      const insert = complete && !isRead()
      client.setQueryData<Data<T>>(queryKey, (data) =>
        data === undefined
          ? data
          : {
              ...data,
              pages: data.pages.map((page, index) => {
                const before = insert && index === 0 ? fresh : []
                // A page without a change stays the same object, so that it is not compared or drawn again.
                if (before.length === 0 && !page.items.some((item) => changed.has(idOf(item)))) return page
                return {
                  ...page,
                  items: [...before, ...page.items.map((item) => changed.get(idOf(item)) ?? item)],
                }
              }),
            },
      )
      setNewer(insert || fresh.length === 0 ? NONE : { count: fresh.length, more: !complete })
      return others.slice(MOST_READ)
    }
    const stop = followChanges((changes) => {
      const ids = changes.filter((change) => latest.current.follow.concerns(change)).map(({ id }) => id)
      if (ids.length === 0 || client.getQueryData(queryKey) === undefined) return
      waiting = new Set([...(waiting ?? []), ...ids])
      if (!running) void run()
    })
    return () => {
      current = false
      stop()
    }
  }, [client, place])
  const show = (): void => {
    const queryKey = key(...name)
    // The first page alone is read again; the following ones would no longer join it.
    client.setQueryData<Data<T>>(queryKey, (data) =>
      data === undefined ? data : { pages: data.pages.slice(0, 1), pageParams: data.pageParams.slice(0, 1) },
    )
    setNewer(NONE)
    void client.invalidateQueries({ queryKey })
    document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true })
    window.scrollTo({ top: 0 })
  }
  return { query, newer, show }
}

function isAtBeginning<T>(data: Data<T> | undefined): boolean {
  return data?.pageParams[0]?.length === 0
}

function idsOf<T>(data: Data<T> | undefined, idOf: (item: T) => string): ReadonlySet<string> {
  return new Set(data?.pages.flatMap(({ items }) => items.map(idOf)))
}

/** Tells whether the user reads the list, so that its rows must not move. */
function isRead(): boolean {
  return window.scrollY > TOP_PX || document.activeElement?.closest('main .wide') != null
}

/** Says how many newer items there are, and shows them on request. */
export function NewerItems(props: {
  readonly newer: Newer
  readonly what: 'newCalls' | 'newEvents'
  readonly show: () => void
}) {
  const t = useTranslations('follow')
  const { newer, what, show } = props
  const counted = t(what, { count: newer.count })
  return (
    <div role="status" className="newer">
      {newer.count > 0 && (
        <Button size="xs" onClick={show}>
          {newer.more ? t('more', { items: counted }) : counted}
        </Button>
      )}
    </div>
  )
}
