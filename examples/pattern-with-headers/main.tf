# Every topic of a family into one table, with the headers of its messages: topics that are made later are read from their first message.
#
#   terraform apply -var bootstrap_servers=127.0.0.1:9092

terraform {
  required_version = ">= 1.11"
  required_providers {
    featurestore = {
      source = "featurestore/featurestore"
    }
  }
}

variable "bootstrap_servers" {
  description = "Address of the Kafka broker, host:port."
  type        = string
}

variable "topics" {
  description = "Java regular expression that the whole name of a topic must match."
  type        = string
  default     = "orders-(eu|us)\\..+"
}

# The endpoint comes from FEATURESTORE_ENDPOINT, or is the local agent's default.
provider "featurestore" {}

resource "featurestore_connection" "kafka" {
  name = "local-kafka"
  kafka = {
    bootstrap_servers = var.bootstrap_servers
    security_protocol = "PLAINTEXT"
  }
}

resource "featurestore_stream" "orders" {
  name        = "main.shop.orders_everywhere"
  description = "Orders of all regions, with their trace ids"

  source_config = {
    kafka_stream_config = {
      subscription_mode = { subscribe_pattern = var.topics }
      extra_options = {
        # What the topics hold already is read too.
        startingOffsets = "earliest"
        # A column `headers`: an array of structs of key and value, null where a message has none.
        includeHeaders = "true"
      }
    }
  }

  connection_config = {
    uc_connection_name = featurestore_connection.kafka.name
  }

  schema_config = {
    direct_schemas = {
      payload_schema = {
        json_schema = jsonencode({
          type = "object"
          properties = {
            order_id = { type = "integer", format = "int64" }
            amount   = { type = "number" }
          }
        })
      }
    }
  }

  ingestion_config = {
    ingestion_destination = {
      delta_table_name = "main.shop.orders_everywhere_raw"
    }
  }
}
