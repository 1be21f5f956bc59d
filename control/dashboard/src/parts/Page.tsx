import { Group, Skeleton, Stack, Text, Title } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import { Panel, Problem } from './Problem.js'

/** A screen: its title, its actions and its content. The title gets the focus, so that a screen reader says the new page. */
export function Page(props: {
  readonly title: string
  readonly actions?: ReactNode
  readonly children: ReactNode
}) {
  const { title, actions, children } = props
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · Parley`
    heading.current?.focus({ preventScroll: true })
  }, [title])
  return (
    <Stack gap="lg">
      <Group justify="space-between">
        <Title order={1} size="h2" ref={heading} tabIndex={-1} className="page-title">
          {title}
        </Title>
        {actions !== undefined && <Group gap="sm">{actions}</Group>}
      </Group>
      {children}
    </Stack>
  )
}

const SKELETON_AFTER_MS = 150

/** Shows the data of a query, or its loading or failed state. Old data stays while new data loads. */
export function Loaded<T>(props: {
  readonly query: UseQueryResult<T, Error>
  /** Height of the final content. */
  readonly height?: number
  readonly children: (data: T) => ReactNode
}) {
  const { query, height = 160, children } = props
  const t = useTranslations('common')
  const [slow, setSlow] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), SKELETON_AFTER_MS)
    return () => clearTimeout(timer)
  }, [])
  if (query.data !== undefined) return <Panel data={query.data} draw={children} />
  if (query.error !== null) return <Problem error={query.error} retry={() => void query.refetch()} />
  return (
    <div role="status" aria-busy="true" aria-label={t('loading')}>
      {slow ? <Skeleton height={height} /> : null}
    </div>
  )
}

/** Says that something on the page could not be read. One problem stands for all of `queries`. */
export function Failures({ queries }: { readonly queries: readonly UseQueryResult<unknown, Error>[] }) {
  const failed = queries.filter(({ data, error }) => data === undefined && error !== null)
  const error = failed[0]?.error
  if (error == null) return null
  const retry = (): void => {
    for (const query of failed) void query.refetch()
  }
  return <Problem error={error} retry={retry} />
}

/** Shows the sentence of an empty list, and the next step. */
export function Empty({ text, children }: { readonly text: string; readonly children?: ReactNode }) {
  return (
    <Stack align="flex-start" py="lg">
      <Text>{text}</Text>
      {children}
    </Stack>
  )
}
