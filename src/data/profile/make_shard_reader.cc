#include "src/data/profile/make_shard_reader.h"

#include "src/data/parquet/reader.h"
#include "src/data/text/reader.h"

namespace espalier {

std::unique_ptr<ShardReader> MakeShardReader(const TableSource& table, const ReadOptions& options) {
  const std::vector<InputFile>& files = table.plan.files;
  const bool parquet =
      !files.empty() && FormatOf(table.job.data, files.front().path) == DataFormat::kParquet;
  return parquet ? MakeParquetReader(table, options) : MakeTextReader(table, options);
}

}  // namespace espalier
