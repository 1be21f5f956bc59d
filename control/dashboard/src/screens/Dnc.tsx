import { Button, Text, TextInput } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import type { ImportDncEntriesBody } from '../../../../clients/typescript/generated/types.js'
import type { Item } from '../api.js'
import { useFormat } from '../i18n.js'
import { CsvImport } from '../parts/CsvImport.js'
import { Confirm, FormDialog } from '../parts/Dialog.js'
import { useFields } from '../parts/fields.js'
import { List, useAction, useList } from '../parts/List.js'
import { Page } from '../parts/Page.js'
import { Rows } from '../parts/Rows.js'
import { useWord } from '../parts/Word.js'
import { useSession } from '../session.js'

type Entry = Item<'listDncEntries'>

/** Digits by which the digests of erased people are told apart. */
const DIGEST_SHOWN = 6

/** Tells whether an entry names an erased person: a digest stands for the number. */
const isErased = (e164: string): boolean => e164.startsWith('erased-')

/** Lists the numbers that must not be called. */
export function Dnc() {
  const t = useTranslations('dnc')
  const { api, canWrite, canManage, environment } = useSession()
  const { day, ist } = useFormat()
  const word = useWord()
  const [adding, setAdding] = useState<'one' | 'many' | null>(null)
  const [removed, setRemoved] = useState<Entry | null>(null)
  const nameOf = (e164: string): string =>
    isErased(e164) ? t('erased', { digest: e164.slice(-DIGEST_SHOWN) }) : e164
  const close = (): void => setAdding(null)
  const entries = useList(['dnc'], (cursor) => api.listDncEntries({ query: { cursor, active: 'true' } }))
  const remove = useAction(
    (id: string) => api.deleteDncEntry({ id }),
    () => setRemoved(null),
  )
  return (
    <Page
      title={t('title')}
      actions={
        canWrite && (
          <>
            <Button variant="default" onClick={() => setAdding('many')}>
              {t('import')}
            </Button>
            <Button onClick={() => setAdding('one')}>{t('new')}</Button>
          </>
        )
      }
    >
      <List query={entries} empty={t('empty')}>
        {(items) => (
          <Rows
            label={t('title')}
            rows={items}
            idOf={({ id }) => id}
            columns={[
              {
                title: t('number'),
                cell: ({ e164 }) =>
                  isErased(e164) ? (
                    nameOf(e164)
                  ) : (
                    <Link to="/$environment/people/$number" params={{ environment, number: e164 }}>
                      {e164}
                    </Link>
                  ),
              },
              { title: t('source'), cell: ({ source }) => word(source) },
              { title: t('reason'), cell: ({ reason }) => reason },
              { title: t('added'), cell: ({ createdAt }) => day(createdAt) },
              {
                title: t('locked'),
                cell: ({ lockedUntil }) => (lockedUntil === null ? '–' : ist(lockedUntil)),
              },
              {
                title: t('origin'),
                cell: ({ callId }) =>
                  callId !== null && (
                    <Link to="/$environment/calls/$id" params={{ environment, id: callId }}>
                      {t('by')}
                    </Link>
                  ),
              },
              {
                title: '',
                align: 'right',
                cell: (entry) =>
                  canManage && (
                    <Button
                      size="xs"
                      variant="default"
                      aria-label={t('removeTitle', { number: nameOf(entry.e164) })}
                      onClick={() => setRemoved(entry)}
                    >
                      {t('remove')}
                    </Button>
                  ),
              },
            ]}
          />
        )}
      </List>
      {adding === 'one' && <NewEntry close={close} />}
      {adding === 'many' && (
        <CsvImport
          title={t('import')}
          hint={t('importHint')}
          columns={['e164']}
          send={(rows) =>
            api.importDncEntries({ body: { entries: rows as unknown as ImportDncEntriesBody['entries'] } })
          }
          close={close}
        />
      )}
      {removed !== null && (
        <Confirm
          title={t('removeTitle', { number: nameOf(removed.e164) })}
          text={
            <>
              <Text>{t('removeText')}</Text>
              {removed.lockedUntil !== null && (
                <Text>{t('lockedHint', { time: ist(removed.lockedUntil) })}</Text>
              )}
            </>
          }
          label={t('remove')}
          action={{ ...remove, mutate: () => remove.mutate(removed.id) }}
          close={() => setRemoved(null)}
        />
      )}
    </Page>
  )
}

function NewEntry({ close }: { readonly close: () => void }) {
  const t = useTranslations('dnc')
  const tCommon = useTranslations('common')
  const { api } = useSession()
  const form = useFields({ e164: '+91', reason: '' })
  const { e164, reason } = form.values
  const create = useAction(
    () => api.createDncEntry({ body: { e164, source: 'manual', ...(reason === '' ? {} : { reason }) } }),
    close,
  )
  return (
    <FormDialog title={t('new')} close={close} action={create} submit={tCommon('save')}>
      <TextInput label={t('number')} type="tel" required data-autofocus {...form.text('e164')} />
      <TextInput label={t('reason')} maxLength={200} {...form.text('reason')} />
    </FormDialog>
  )
}
