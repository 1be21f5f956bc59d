import { Button } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useTranslations } from 'use-intl'
import { useFormat } from '../i18n.js'
import { Empty, Loaded, Page } from '../parts/Page.js'
import { Rows } from '../parts/Rows.js'
import { useKey, useSession } from '../session.js'

/** Lists what the service reported, and whether the endpoints took it. */
export function Events() {
  const t = useTranslations('events')
  const tCommon = useTranslations('common')
  const { api, environment } = useSession()
  const key = useKey()
  const { time } = useFormat()
  const events = useInfiniteQuery({
    queryKey: key('events'),
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) => api.listEvents({ query: { cursor: pageParam } }),
    getNextPageParam: ({ cursor }) => cursor ?? undefined,
  })
  return (
    <Page title={t('title')}>
      <Loaded query={events} height={400}>
        {({ pages }) => {
          const items = pages.flatMap((page) => page.items)
          if (items.length === 0) return <Empty text={t('empty')} />
          return (
            <Rows
              label={t('title')}
              rows={items}
              idOf={({ id, delivery }) => `${id} ${delivery?.endpointId ?? ''}`}
              columns={[
                { title: t('type'), cell: ({ type }) => type },
                {
                  title: t('subject'),
                  cell: ({ subjectType, subjectId }) =>
                    subjectType === 'call' ? (
                      <Link to="/$environment/calls/$id" params={{ environment, id: subjectId }}>
                        {subjectId}
                      </Link>
                    ) : (
                      subjectId
                    ),
                },
                {
                  title: t('delivery'),
                  cell: ({ delivery }) =>
                    delivery === null
                      ? t('notSubscribed')
                      : `${delivery.status} (${delivery.lastStatus ?? '–'}, ${delivery.attempts})`,
                },
                { title: t('when'), cell: ({ createdAt }) => time(createdAt) },
              ]}
            />
          )
        }}
      </Loaded>
      {events.hasNextPage && (
        <Button
          variant="default"
          onClick={() => void events.fetchNextPage()}
          loading={events.isFetchingNextPage}
        >
          {tCommon('more')}
        </Button>
      )}
    </Page>
  )
}
