import { Button } from '@mantine/core'
import {
  type InfiniteData,
  type UseInfiniteQueryResult,
  useInfiniteQuery,
  useMutation,
  useQueryClient,
} from '@tanstack/react-query'
import type { ReactNode } from 'react'
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

/** Shows the items of a list, its empty state, and buttons for the pages before and after them. */
export function List<T, W>(props: {
  readonly query: Listed<T, W>
  readonly empty: string
  /** Shown below the text of an empty list. */
  readonly start?: ReactNode
  readonly children: (items: readonly T[]) => ReactNode
}) {
  const t = useTranslations('common')
  const { query, empty, start, children } = props
  return (
    <>
      {query.hasPreviousPage && (
        <div>
          <Button
            variant="default"
            onClick={() => void query.fetchPreviousPage()}
            loading={query.isFetchingPreviousPage}
          >
            {t('before')}
          </Button>
        </div>
      )}
      <Loaded query={query} height={300}>
        {({ pages }) => {
          const items = pages.flatMap((page) => page.items)
          return items.length === 0 ? <Empty text={empty}>{start}</Empty> : children(items)
        }}
      </Loaded>
      {query.hasNextPage && (
        <div>
          <Button
            variant="default"
            onClick={() => void query.fetchNextPage()}
            loading={query.isFetchingNextPage}
          >
            {t('more')}
          </Button>
        </div>
      )}
    </>
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
