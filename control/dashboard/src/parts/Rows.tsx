import { Table } from '@mantine/core'
import type { ReactNode } from 'react'

export interface Column<T> {
  readonly title: string
  readonly align?: 'right'
  cell(row: T): ReactNode
}

/** A table that scrolls sideways by itself on narrow screens, so that the page does not. */
export function Rows<T>(props: {
  readonly label: string
  readonly rows: readonly T[]
  readonly columns: readonly Column<T>[]
  readonly idOf: (row: T) => string
}) {
  const { label, rows, columns, idOf } = props
  return (
    // Keyboard users scroll the region (WCAG 2.2, 2.1.1).
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region needs the focus
    <section className="wide" aria-label={label} tabIndex={0}>
      <Table highlightOnHover>
        <Table.Thead>
          <Table.Tr>
            {columns.map(({ title, align }) => (
              <Table.Th key={title} ta={align ?? 'left'}>
                {title}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr key={idOf(row)}>
              {columns.map(({ title, align, cell }) => (
                <Table.Td key={title} ta={align ?? 'left'}>
                  {cell(row)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </section>
  )
}
