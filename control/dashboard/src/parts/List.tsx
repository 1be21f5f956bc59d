import { Button } from '@mantine/core'
import {
  type InfiniteData,
  type UseInfiniteQueryResult,
  useInfiniteQuery,
  useMutation,
  useQueryClient,
} from '@tanstack/react-query'
import { type ReactNode, type RefObject, useLayoutEffect, useRef } from 'react'
import { useTranslations } from 'use-intl'
import type { Page as ListPage } from '../../../../clients/typescript/http-client.js'
import { useKey } from '../session.js'
import { Empty, Loaded } from './Page.js'

/** The cursors of a page and of those before it, from the second page on: the way to the page and back. */
export type Trail = readonly string[]
type Listed<T, W> = UseInfiniteQueryResult<InfiniteData<ListPage<T, W>, Trail>, Error>

/** Most pages that are kept and drawn. A change reads them again, and a page with many rows is slow. */
const MOST_PAGES = 10

/** Reads a list page by page, and keeps the last pages that were read. `name` and the filters in it tell lists apart. */
export function useList<T, W = never>(
  name: readonly unknown[],
  fetchPage: (cursor: string | undefined) => Promise<ListPage<T, W>>,
  options: {
    readonly refetchMs?: number
    readonly enabled?: boolean
    /** False: the list is not read again when the window gets the focus. */
    readonly refetchOnFocus?: boolean
  } = {},
): Listed<T, W> {
  const key = useKey()
  return useInfiniteQuery({
    queryKey: key(...name),
    initialPageParam: [] as Trail,
    queryFn: ({ pageParam }) => fetchPage(pageParam.at(-1)),
    maxPages: MOST_PAGES,
    getNextPageParam: ({ cursor }, _pages, trail) => (cursor === null ? undefined : [...trail, cursor]),
    getPreviousPageParam: (_page, _pages, trail) => (trail.length === 0 ? undefined : trail.slice(0, -1)),
    enabled: options.enabled ?? true,
    refetchOnWindowFocus: options.refetchOnFocus ?? true,
    ...(options.refetchMs === undefined ? {} : { refetchInterval: options.refetchMs }),
  })
}

/** The row next to which rows are added, and where it stands in the window (pixels). */
interface Place {
  readonly row: Element
  readonly top: number
}

/**
 * Shows the items of a list, its empty state, and buttons for the pages before and after them. The rows that are read stay where they
 * stand in the window while others come and go.
 */
export function List<T, W>(props: {
  readonly query: Listed<T, W>
  readonly empty: string
  /** Shown below the text of an empty list. */
  readonly start?: ReactNode
  readonly children: (items: readonly T[]) => ReactNode
}) {
  const t = useTranslations('common')
  const { query, empty, start, children } = props
  const list = useRef<HTMLDivElement>(null)
  const place = useRef<Place | null>(null)
  const { data } = query
  useLayoutEffect(() => {
    const kept = place.current
    place.current = null
    if (data === undefined || kept?.row.isConnected !== true) return
    // Browsers that keep the place by themselves would move the page twice.
    const { style } = document.documentElement
    style.overflowAnchor = 'none'
    window.scrollBy({ top: kept.row.getBoundingClientRect().top - kept.top, behavior: 'instant' })
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        style.overflowAnchor = ''
      }),
    )
  }, [data])
  const keep = (which: 'first' | 'last'): void => {
    const row = list.current?.querySelector(`tbody tr:${which}-child`) ?? null
    place.current = row === null ? null : { row, top: row.getBoundingClientRect().top }
  }
  return (
    <>
      {query.hasPreviousPage && (
        <Further
          label={t('before')}
          list={list}
          isLoading={query.isFetchingPreviousPage}
          load={() => {
            keep('first')
            void query.fetchPreviousPage()
          }}
        />
      )}
      <div ref={list} style={{ display: 'contents' }}>
        <Loaded query={query} height={300}>
          {({ pages }) => {
            const items = pages.flatMap((page) => page.items)
            return items.length === 0 ? <Empty text={empty}>{start}</Empty> : children(items)
          }}
        </Loaded>
      </div>
      {query.hasNextPage && (
        <Further
          label={t('more')}
          list={list}
          isLoading={query.isFetchingNextPage}
          load={() => {
            keep('last')
            void query.fetchNextPage()
          }}
        />
      )}
    </>
  )
}

/** A button for more rows. It has the focus while they load, and leaves it to the list when there are no more. */
function Further(props: {
  readonly label: string
  readonly list: RefObject<HTMLDivElement | null>
  readonly isLoading: boolean
  readonly load: () => void
}) {
  const { label, list, isLoading, load } = props
  const button = useRef<HTMLButtonElement>(null)
  useLayoutEffect(
    () => () => {
      if (button.current === null || button.current !== document.activeElement) return
      list.current?.querySelector<HTMLElement>('[tabindex="0"]')?.focus({ preventScroll: true })
    },
    [list],
  )
  return (
    <div>
      {/* A button that is disabled would lose the focus. */}
      <Button
        ref={button}
        variant="default"
        aria-busy={isLoading}
        onClick={() => {
          if (!isLoading) load()
        }}
      >
        {label}
      </Button>
    </div>
  )
}

/** Runs a change, and then reads again what the page shows. */
export function useAction<R, V = void>(run: (input: V) => Promise<R>, then: (result: R) => void = () => {}) {
  const key = useKey()
  const queries = useQueryClient()
  return useMutation<R, Error, V>({
    mutationFn: run,
    onSuccess: (result) => {
      void queries.invalidateQueries({ queryKey: key() })
      then(result)
    },
  })
}
